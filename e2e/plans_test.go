package e2e

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"petcat"
)

// TestPlans: each plan's numbers are what its callers are told from the first
// answer on.
func TestPlans(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	for _, c := range []struct {
		plan              []string
		perMinute, perDay int64
	}{
		{[]string{"free"}, 60, 1_000},
		{[]string{"pro"}, 300, 10_000},
		{[]string{"business"}, 1_000, 100_000},
		{[]string{"enterprise", "--per-minute", "70", "--per-day", "77"}, 70, 77},
	} {
		t.Run(c.plan[0], func(t *testing.T) {
			openAccount(t, data, c.plan[0]+" account", c.plan...)
			_, key := issueKey(t, data, c.plan[0]+" account")
			a := s.list(key)
			wantStatus(t, a, http.StatusOK)
			wantNumber(t, a, "X-RateLimit-Limit", c.perMinute)
			wantNumber(t, a, "X-RateLimit-Remaining", c.perMinute-1)
			if left := a.dayLeft(t); left != c.perDay-1 {
				t.Errorf("%d requests of the day are left; want %d", left, c.perDay-1)
			}
			want := `"minute";q=` + strconv.FormatInt(c.perMinute, 10) + `;w=60, "day";q=` + strconv.FormatInt(c.perDay, 10) + `;w=86400`
			if got := a.Header.Get("RateLimit-Policy"); got != want {
				t.Errorf("RateLimit-Policy is %s; want %s", got, want)
			}
		})
	}
}

// TestAccountsDoNotShareAndKeysDo: two accounts with three keys.
func TestAccountsDoNotShareAndKeysDo(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	awaitRoomInDay(t, 10*time.Second)
	openAccount(t, data, "acme", "enterprise", "--per-minute", "100", "--per-day", "3")
	openAccount(t, data, "umbrella", "enterprise", "--per-minute", "100", "--per-day", "3")
	_, one := issueKey(t, data, "acme")
	_, two := issueKey(t, data, "acme")
	_, other := issueKey(t, data, "umbrella")
	if got := s.list(one).dayLeft(t); got != 2 {
		t.Errorf("after one key's request %d are left; want 2", got)
	}
	if got := s.list(two).dayLeft(t); got != 1 {
		t.Errorf("after two keys' requests %d are left; want 1", got)
	}
	s.mustCreate(one, "dog")
	for _, key := range []string{one, two} {
		wantError(t, s.list(key), http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded)
	}
	if got := s.list(other); got.dayLeft(t) != 2 || !strings.Contains(string(got.body), "dog") {
		t.Errorf("the other account has %d left and sees %s", got.dayLeft(t), got.body)
	}
}

// TestEveryAnswer walks through the statuses that a caller meets.
func TestEveryAnswer(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	category := func(changes ...request) *answer { return s.create(key, "dog", changes...) }
	post := func(body string, changes ...request) *answer {
		return s.do(http.MethodPost, "/v1/categories", body, append(changes, withKey(key))...)
	}
	wantStatus(t, category(withHeader("Idempotency-Key", "k")), http.StatusCreated)
	for _, c := range []struct {
		name   string
		answer *answer
		status int
		code   petcat.Code
	}{
		{"list", s.list(key), http.StatusOK, ""},
		{"unchanged", s.list(key, withHeader("If-None-Match", s.list(key).Header.Get("ETag"))), http.StatusNotModified, ""},
		{"create", category(), http.StatusCreated, ""},
		{"replay", category(withHeader("Idempotency-Key", "k")), http.StatusCreated, ""},
		{"no name", post(`{}`), http.StatusBadRequest, petcat.CodeMissingField},
		{"bad name", post(`{"name":7}`), http.StatusBadRequest, petcat.CodeInvalidField},
		{"no JSON", post(`{"name"`), http.StatusBadRequest, petcat.CodeMalformedJSON},
		{"no object", post(`[]`), http.StatusBadRequest, petcat.CodeInvalidBody},
		{"no key", s.do(http.MethodGet, "/v1/categories", ""), http.StatusUnauthorized, petcat.CodeMissingAPIKey},
		{"wrong key", s.list(key[:len(key)-1] + "!"), http.StatusUnauthorized, petcat.CodeInvalidAPIKey},
		{"no such path", s.do(http.MethodGet, "/v1/dogs", "", withKey(key)), http.StatusNotFound, petcat.CodeNotFound},
		{"no such path, no key", s.do(http.MethodGet, "/v1/dogs", ""), http.StatusUnauthorized, petcat.CodeMissingAPIKey},
		{"wrong method", s.do(http.MethodPut, "/v1/categories", "{}", withKey(key)), http.StatusMethodNotAllowed, petcat.CodeMethodNotAllowed},
		{"too large", post(`{"name":"` + strings.Repeat("x", 1<<20) + `"}`), http.StatusRequestEntityTooLarge, petcat.CodeBodyTooLarge},
		{"wrong type", post("name=dog", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), http.StatusUnsupportedMediaType, petcat.CodeUnsupportedMediaType},
		{"key used for another body", s.create(key, "cat", withHeader("Idempotency-Key", "k")), http.StatusUnprocessableEntity, petcat.CodeIdempotencyKeyReused},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, c.answer, c.status, c.code)
		})
	}

	t.Run("minute spent", func(t *testing.T) {
		openAccount(t, data, "minute", "enterprise", "--per-minute", "1", "--per-day", "1000")
		_, key := issueKey(t, data, "minute")
		// Should the minute end in between, the next request is the refused one.
		eventually(t, 5*time.Second, "the minute is spent", func() bool { return s.list(key).code() == petcat.CodeRateLimitExceeded })
	})
	t.Run("day spent", func(t *testing.T) { s.spentKey("day") })
	t.Run("banned", func(t *testing.T) { s.bannedKey("banned") })
	t.Run("too many wrong keys", func(t *testing.T) {
		wrong := key[:len(key)-1] + "!"
		eventually(t, 30*time.Second, "the address is refused", func() bool {
			for range 100 {
				if s.list(wrong).code() == petcat.CodeTooManyFailedAttempts {
					return true
				}
			}
			return false
		})
		wantStatus(t, s.list(key), http.StatusOK)
	})
}
