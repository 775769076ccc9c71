package httpapi_test

import (
	"context"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/httpapi"
	"petcat/internal/keyring"
	"petcat/internal/ratelimit"
)

// blind is a limiter without counts.
type blind struct{}

func (b blind) Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error) {
	return b.Spend(ctx, c)
}

func (blind) Spend(context.Context, ratelimit.Charge) (ratelimit.Decision, error) {
	return ratelimit.Decision{}, petcat.Errorf(petcat.CodeServiceUnavailable, "requests cannot be counted now")
}

// closed is a keyring that cannot check keys.
type closed struct{}

func (closed) Identify(context.Context, string, clock.Reading) (*keyring.Caller, error) {
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
