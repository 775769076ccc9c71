package httpapi_test

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/httpapi"
	"github.com/petcat-api/petcat/internal/keyring"
)

const (
	challengePlain = `Bearer realm="petcat"`
	challengeError = `Bearer realm="petcat", error="invalid_token"`
)

func TestIdentify(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Enterprise, 100_000, 1_000_000)
	key, _ := s.key(account)
	header := func(value string) request { return withHeader("Authorization", value) }

	t.Run("200", func(t *testing.T) {
		for _, value := range []string{"Bearer " + key, "bearer " + key, "BEARER " + key, "Bearer   " + key} {
			wantStatus(t, s.list(header(value)), 200)
		}
	})

	t.Run("200 with a name that begins like a key", func(t *testing.T) {
		s.create(`{"name":"pck_dogs"}`, withKey(key))
		a := s.list(withKey(key), func(r *http.Request) { r.URL.RawQuery = "name=pck_dogs" })
		wantStatus(t, a, 200)
		if !strings.Contains(string(a.body), `"name":"pck_dogs"`) {
			t.Errorf("got %s", a.body)
		}
		truncated := func(r *http.Request) { r.URL.RawQuery = "name=" + key[:40] }
		wantStatus(t, s.list(withKey(key), truncated), 200)
	})

	valid := strings.TrimPrefix(key, "pck_live_")
	const missing, invalid = petcat.CodeMissingAPIKey, petcat.CodeInvalidAPIKey
	for _, c := range []struct {
		name, path string
		change     request
		code       petcat.Code
		challenge  string
	}{
		{"no header", "", func(*http.Request) {}, missing, challengePlain},
		{"scheme alone", "", header("Bearer"), missing, challengePlain},
		{"another scheme", "", header("Basic YTpi"), missing, challengePlain},
		{"scheme run together", "", header("Bearer" + key), missing, challengePlain},
		{"shortened", "", header("Bearer " + key[:len(key)-1]), invalid, challengeError},
		{"something after it", "", header("Bearer " + key + " x"), invalid, challengeError},
		{"Bearer twice", "", header("Bearer Bearer " + key), invalid, challengeError},
		{"in quotes", "", header(`Bearer "` + key + `"`), invalid, challengeError},
		{"of staging", "", header("Bearer pck_test_" + valid), invalid, challengeError},
		{"in the query", "?api_key=" + key, func(*http.Request) {}, invalid, challengeError},
		{"in the query, escaped", "?api_key=pck%5Flive%5F" + valid, withKey(key), invalid, challengeError},
		{"in the query, beside an invalid escape", "?x=%zz&api_key=" + key, withKey(key), invalid, challengeError},
		{"of staging, in the query", "?api_key=pck_test_" + valid, withKey(key), invalid, challengeError},
		{"in the path, escaped", "/pck%5Flive_" + valid, withKey(key), invalid, challengeError},
	} {
		t.Run("401 "+c.name, func(t *testing.T) {
			a := s.do("GET", "/v1/categories"+c.path, nil, c.change)
			wantError(t, a, 401, c.code)
			wantHeader(t, a, "WWW-Authenticate", c.challenge)
			wantHeader(t, a, "Cache-Control", "no-store")
			if strings.Contains(string(a.body), valid[:20]) {
				t.Errorf("the response contains the key: %s", a.body)
			}
		})
	}
	t.Run("401 two headers", func(t *testing.T) {
		wantError(t, s.list(withKey(key), withKey(key)), 401, petcat.CodeInvalidAPIKey)
	})
	t.Run("401 unknown but well-formed", func(t *testing.T) {
		g, err := petcat.GenerateKey(petcat.Production, zeros{})
		must(t, err)
		wantError(t, s.list(withKey(g.Secret.Reveal())), 401, petcat.CodeInvalidAPIKey)
	})
	t.Run("401 on every path and method", func(t *testing.T) {
		for _, path := range []string{"/v1", "/v1/dogs/1", "/v1/categories/1"} {
			for _, method := range []string{"GET", "POST", "OPTIONS", "BREW"} {
				wantError(t, s.do(method, path, nil), 401, petcat.CodeMissingAPIKey)
			}
		}
	})
}

// zeros is a reader of zero bytes instead of random ones.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestKeyStates(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Pro)
	// change applies what another process did, as the change log would.
	change := func(err error) {
		t.Helper()
		must(t, err)
		s.hear()
	}
	act := func(id petcat.KeyID, a petcat.KeyAction) {
		t.Helper()
		_, err := s.store.ChangeKey(t.Context(), petcat.By("test"), id, a)
		change(err)
	}
	key, id := s.key(account)
	wantStatus(t, s.list(withKey(key)), 200)

	t.Run("disabled and enabled", func(t *testing.T) {
		act(id, petcat.DisableKey)
		a := s.list(withKey(key))
		wantError(t, a, 401, petcat.CodeDisabledAPIKey)
		wantHeader(t, a, "WWW-Authenticate", challengeError)
		act(id, petcat.EnableKey)
		wantStatus(t, s.list(withKey(key)), 200)
	})
	t.Run("revoked", func(t *testing.T) {
		act(id, petcat.RevokeKey)
		wantError(t, s.list(withKey(key)), 401, petcat.CodeRevokedAPIKey)
	})
	t.Run("expired", func(t *testing.T) {
		short, _ := s.keyOn(account, petcat.KeyTerms{ExpiresAt: s.clock.Read().Time().Add(time.Hour)})
		wantStatus(t, s.list(withKey(short)), 200)
		s.advance(time.Hour - time.Millisecond)
		wantStatus(t, s.list(withKey(short)), 200)
		s.advance(time.Millisecond)
		wantError(t, s.list(withKey(short)), 401, petcat.CodeExpiredAPIKey)
	})
}

func TestFailedCredentials(t *testing.T) {
	s := start(t, func(o *httpapi.Options) {
		o.TrustedProxies = clientnet.NewProxies([]netip.Prefix{netip.MustParsePrefix(
			"127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}, o.Logger)
	})
	key, _ := s.key(s.account("acme", petcat.Pro))
	end := noon.Truncate(time.Minute).Add(time.Minute)
	from := func(address string) request { return withHeader("X-Forwarded-For", address) }
	wrong := withKey("nonsense")

	t.Run("a missing key does not count", func(t *testing.T) {
		for range 3 {
			wantHeadline(t, s.list(from("192.0.2.1")), 600, 600, end)
		}
	})
	t.Run("429 after 600 wrong keys", func(t *testing.T) {
		for i := range 600 {
			a := s.list(wrong, from("192.0.2.1"))
			wantError(t, a, 401, petcat.CodeInvalidAPIKey)
			wantHeadline(t, a, 600, int64(599-i), end)
		}
		a := s.list(wrong, from("192.0.2.1"))
		wantError(t, a, 429, petcat.CodeTooManyFailedAttempts)
		wantHeader(t, a, "Retry-After", "43")
		wantStatus(t, s.list(withKey(key), from("192.0.2.1")), 200)
		wantError(t, s.list(from("192.0.2.1")), 401, petcat.CodeMissingAPIKey)
	})
	t.Run("each address has its own limit", func(t *testing.T) {
		wantHeadline(t, s.list(wrong, from("192.0.2.2")), 600, 599, end)
		wantHeadline(t, s.list(wrong, from("2001:db8::1")), 600, 599, end)
		wantHeadline(t, s.list(wrong, from("2001:db8::ffff:2")), 600, 598, end) // the same /64
		wantHeadline(t, s.list(wrong, from("2001:db8:0:1::1")), 600, 599, end)
		wantHeadline(t, s.list(wrong, from("::ffff:192.0.2.2")), 600, 598, end)
	})
	t.Run("only trusted proxies can set the address", func(t *testing.T) {
		// .50 has no failures yet.
		wantHeadline(t, s.list(wrong, from("192.0.2.2, 192.0.2.50, 10.1.2.3")), 600, 599, end)
		wantHeadline(t, s.list(wrong, from("192.0.2.50"), from("10.1.2.3")), 600, 598, end)
		wantHeadline(t, s.list(wrong, from("192.0.2.2, garbage")), 600, 599, end) // the proxy itself
	})
	t.Run("the next minute resets the limit", func(t *testing.T) {
		s.advance(42 * time.Second)
		wantHeadline(t, s.list(wrong, from("192.0.2.1")), 600, 599, end.Add(time.Minute))
	})
}

// pollingFeed is a keyring that polls when it is asked for a new key.
type pollingFeed struct {
	*keyring.Keyring

	polls *atomic.Int64
}

func (f pollingFeed) IdentifyNew(ctx context.Context, credential string, now clock.Reading) (*keyring.Caller, error) {
	f.polls.Add(1)
	f.Poll(ctx)
	return f.Identify(credential, now)
}

// TestNewKeyAfterTooManyFailures: a key that another node has just created works, whatever else its
// address has sent. Malformed keys are not looked up.
func TestNewKeyAfterTooManyFailures(t *testing.T) {
	s, polls := start(t), new(atomic.Int64)
	s.options.Keyring = pollingFeed{s.keyring, polls}
	s.handler = httpapi.New(s.options)
	account := s.account("acme", petcat.Pro)
	generated, err := petcat.GenerateKey(petcat.Production, zeros{})
	must(t, err)
	unknown := generated.Secret.Reveal()
	list := func(key string) *response { return s.serve(t, "GET", "/v1/categories", key, nil, 0) }

	for range httpapi.FailuresPerMinute {
		wantError(t, list("nonsense"), 401, petcat.CodeInvalidAPIKey)
	}
	wantError(t, list("nonsense"), 429, petcat.CodeTooManyFailedAttempts)
	if n := polls.Load(); n != 0 {
		t.Errorf("malformed keys caused %d look-ups, want none", n)
	}
	wantError(t, list(unknown), 429, petcat.CodeTooManyFailedAttempts)

	s.store.OnAccessChange(func(context.Context) {}) // as if another node made the changes
	key, _ := s.key(account)
	wantStatus(t, list(key), 200)
}
