package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/httpapi"
	"petcat/internal/keyring"
)

// slow is a keyring that answers nobody before they go away, and counts whose
// key is not valid for as far as it knows.
type slow struct{ unknown bool }

func (k slow) Identify(ctx context.Context, _ string, _ clock.Reading) (*keyring.Caller, error) {
	<-ctx.Done()
	if k.unknown {
		return nil, petcat.Errorf(petcat.CodeInvalidAPIKey, "the API key is not valid").WithCause(context.Cause(ctx))
	}
	return nil, context.Cause(ctx)
}

// goneCreator is a store whose writes take longer than the client waits.
type goneCreator struct{ petcat.CategoryStore }

func (goneCreator) CreateCategory(ctx context.Context, _ petcat.CreateCategory) (petcat.CreatedCategory, error) {
	return petcat.CreatedCategory{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the write took too long").WithCause(context.Cause(ctx))
}

// What a client ended is no failure of ours, whatever it was waiting for.
func TestClientsThatGoAway(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*httpapi.Options)
		method string
		status int
		failed int64 // attempts of the address
	}{
		{"while the key is looked up", func(o *httpapi.Options) { o.Keyring = slow{} }, http.MethodGet, 499, 0},
		{"with an unknown key", func(o *httpapi.Options) { o.Keyring = slow{unknown: true} }, http.MethodGet, 401, 1},
		{"during a create", func(o *httpapi.Options) { o.Store = goneCreator{} }, http.MethodPost, 499, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, c.change)
			key, _ := s.key(s.account("zoo", petcat.Free))
			_, err := s.keyring.Identify(t.Context(), key, s.clock.Read()) // it is in memory
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			r := httptest.NewRequestWithContext(ctx, c.method, "/v1/categories", strings.NewReader(`{"name":"dog"}`))
			r.Header.Set("Authorization", "Bearer "+key)
			s.handler.ServeHTTP(httptest.NewRecorder(), r)
			if last := s.records[len(s.records)-1]; last.Status != c.status {
				t.Errorf("recorded as %d %s, want %d", last.Status, last.Code, c.status)
			}
			if s.log.Len() > 0 {
				t.Errorf("the log says: %s", s.log)
			}
			state := s.options.Failures.Peek(clientnet.Of(netip.MustParseAddrPort(r.RemoteAddr).Addr())).Minute
			if failed := state.Limit - state.Remaining; failed != c.failed {
				t.Errorf("%d failed attempts of the address, want %d", failed, c.failed)
			}
		})
	}
}

// An outage writes a line a second, not one for each request.
func TestFailuresAreLoggedOnceASecond(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.Store = awayCreator{} })
	key, _ := s.key(s.account("zoo", petcat.Enterprise, 10_000, 10_000))
	for range 100 {
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), http.StatusServiceUnavailable)
	}
	s.clock.Advance(time.Second)
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), http.StatusServiceUnavailable)
	log := s.log.String()
	if n := strings.Count(log, "\n"); n != 2 || strings.Contains(log, "level=ERROR") || strings.Count(log, "level=WARN") != 2 ||
		!strings.Contains(log, "others_since_last_line=99") || !strings.Contains(log, "disk on fire") {
		t.Errorf("%d lines of log: %s", n, log)
	}
}

type awayCreator struct{ petcat.CategoryStore }

func (awayCreator) CreateCategory(context.Context, petcat.CreateCategory) (petcat.CreatedCategory, error) {
	return petcat.CreatedCategory{}, petcat.Errorf(petcat.CodeServiceUnavailable, "nothing can be stored").WithCause(errors.New("disk on fire"))
}
