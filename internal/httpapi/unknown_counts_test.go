package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/httpapi"
	"github.com/petcat-api/petcat/internal/keyring"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// blind is a limiter without counts.
type blind struct{}

func (b blind) Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error) {
	return b.Spend(ctx, c)
}

func (blind) Spend(context.Context, ratelimit.Charge) (ratelimit.Decision, error) {
	return ratelimit.Decision{}, petcat.Errorf(petcat.CodeServiceUnavailable, "requests cannot be counted now")
}

// behind is a limiter whose clock is behind the node's, as the database's may be.
type behind struct {
	blind

	clock clock.Clock
	by    time.Duration
}

func (b behind) Spend(_ context.Context, c ratelimit.Charge) (ratelimit.Decision, error) {
	now := b.clock.Read().Wall - int64(b.by)
	u := ratelimit.Usage{QuotaCount: petcat.QuotaCount{Now: now, MinuteUsed: c.Quota.PerMinute}, Quota: c.Quota}
	return u.Decide(ratelimit.MinuteSpent, c.Key), nil
}

// TestResetByLimitersClock: a rejection whose body arrived slowly shows the end of the window by the
// limiter's clock, which Retry-After follows.
func TestResetByLimitersClock(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.Limiter = behind{clock: o.Clock, by: 5 * time.Second} })
	key, _ := s.key(s.account("free", petcat.Free))
	minute := noon.Truncate(time.Minute).Add(time.Minute)
	s.advance(minute.Add(2300 * time.Millisecond).Sub(noon))
	a := s.serve(t, "POST", "/v1/categories", key, reader(func([]byte) (int, error) {
		s.clock.Advance(900 * time.Millisecond)
		return 0, io.EOF
	}), 10)
	wantError(t, a, 429, petcat.CodeRateLimitExceeded)
	got, want := fmt.Sprint(a.Header), fmt.Sprintf("X-RateLimit-Reset:[%d]", minute.Unix())
	if !strings.Contains(got, want) {
		t.Errorf("headers: %s, want %s", got, want)
	}
}

// TestResetMinusDate: X-RateLimit-Reset minus Date is the wait by the limiter's clock, so a client does
// not need its own clock, whatever the node's clock shows.
func TestResetMinusDate(t *testing.T) {
	for _, by := range []time.Duration{0, 20 * time.Second, -20 * time.Second, time.Hour} {
		s := start(t, func(o *httpapi.Options) { o.Limiter = behind{clock: o.Clock, by: by} })
		key, _ := s.key(s.account("free", petcat.Free))
		a := s.serve(t, "GET", "/v1/categories", key, nil, 0)
		wantError(t, a, 429, petcat.CodeRateLimitExceeded)
		date, err := http.ParseTime(a.Header.Get("Date"))
		must(t, err)
		now := noon.Add(-by)
		left := now.Truncate(time.Minute).Add(time.Minute).Sub(now)
		reset := fmt.Sprintf("X-RateLimit-Reset:[%d]", date.Add(left).Unix())
		if got := fmt.Sprint(a.Header); !strings.Contains(got, reset) {
			t.Errorf("%s behind: headers %s, want %s, which is %s after Date", by, got, reset, left)
		}
	}
}

// closed is a keyring that cannot check keys.
type closed struct{ *keyring.Keyring }

func (closed) Identify(string, clock.Reading) (*keyring.Caller, error) {
	return nil, petcat.Errorf(petcat.CodeServiceUnavailable, "keys cannot be checked at the moment; retry later")
}

// TestHeadersWithoutCounts: the headers of a 503 show the caller's quota if the caller is known, else
// the policy of the address.
func TestHeadersWithoutCounts(t *testing.T) {
	t.Parallel()
	minute := noon.Truncate(time.Minute).Add(time.Minute)
	t.Run("503 counts unavailable", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(o *httpapi.Options) { o.Limiter = blind{} })
		key, _ := s.key(s.account("free", petcat.Free))
		a := s.list(withKey(key))
		wantError(t, a, 503, petcat.CodeServiceUnavailable)
		wantHeadline(t, a, 60, 0, minute)
		wantHeader(t, a, "RateLimit", `"minute";r=0;t=42`)
		wantHeader(t, a, "RateLimit-Policy", `"minute";q=60;w=60, "day";q=1000;w=86400`)
	})
	t.Run("503 keys unavailable", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(o *httpapi.Options) { o.Keyring = closed{} })
		a := s.list(withKey("pck_live_whatever"))
		wantError(t, a, 503, petcat.CodeServiceUnavailable)
		wantHeadline(t, a, 600, 600, minute)
		wantHeader(t, a, "RateLimit", `"address";r=600;t=42`)
		wantHeader(t, a, "RateLimit-Policy", `"address";q=600;w=60`)
	})
}
