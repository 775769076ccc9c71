package httpapi

import (
	"strconv"
	"time"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/ratelimit"
)

// admit charges the caller and calls next, or refuses the request. It sets the rate-limit
// headers before any other answer can be written.
func (s *Server) admit(next handler) handler {
	return func(e *exchange) error {
		e.route, e.item = s.find(e.path)
		at := e.endpoint()
		if at != nil {
			e.Operation = at.operation.ID // also of requests that are refused
		}
		if e.caller == nil {
			return s.refuseUnauthenticated(e)
		}
		if at != nil && at.operation.Free {
			return s.admitFree(e, next)
		}
		d, err := s.Limiter.Spend(e.r.Context(), ratelimit.Charge{
			Account: e.caller.Account, Key: e.caller.Key, Quota: e.caller.Quota,
		})
		if err != nil {
			return err
		}
		s.setRateLimit(e, d)
		e.Decision = d
		if d.Verdict != ratelimit.Admitted {
			e.retryAfter = d.RetryAfter
			return refusal(d)
		}
		e.Admitted = true
		s.Admitted(e.caller.Account, d.Now)
		return next(e)
	}
}

// admitFree calls next without charging the account. A bucket of its own limits such
// requests, so that they are no way around the limits.
func (s *Server) admitFree(e *exchange, next handler) error {
	if d := s.Peeks.Take(e.caller.Account); d.Refused {
		e.setMinuteLimit(s.usagePolicy, d)
		e.retryAfter = d.RetryAfter
		return petcat.Errorf(petcat.CodeRateLimitExceeded, "an account may ask for its usage %d times a minute; the next minute begins in %s", d.Minute.Limit, wait(d.RetryAfter))
	}
	d, err := s.Limiter.Peek(e.r.Context(), ratelimit.Charge{
		Account: e.caller.Account, Key: e.caller.Key, Quota: e.caller.Quota,
	})
	if err != nil {
		return err
	}
	s.setRateLimit(e, d)
	e.Decision = d
	return next(e)
}

// refuseUnauthenticated refuses a request without a valid key. Only a wrong credential counts as a
// failed attempt of the client's address; a missing one does not.
func (s *Server) refuseUnauthenticated(e *exchange) error {
	if !credentialFailed(e.authError) {
		return e.authError
	}
	d := s.Failures.Take(clientnet.Of(s.clientAddress(e)))
	e.setMinuteLimit(s.addressPolicy, d)
	if d.Refused {
		e.retryAfter = d.RetryAfter
		return petcat.Errorf(petcat.CodeTooManyFailedAttempts,
			"too many requests with a wrong API key came from your address; check the key, and try again in %s", wait(d.RetryAfter))
	}
	return e.authError
}

// refusal returns the error for a refused request: why it is refused, and what the caller
// can do. A caller that does not wait gets many of them, so they are made without fmt.
func refusal(d ratelimit.Decision) error {
	switch d.Verdict {
	case ratelimit.Banned:
		banned := "this API key is banned until "
		if d.Effective == d.Minute || d.Effective == d.Day {
			// The account's quota is used up for longer than the ban lasts.
			banned = "this API key is banned, and its account's requests are used up until "
		}
		return &petcat.Error{Code: petcat.CodeKeyBanned, Message: banned + moment(d.Effective.Reset) +
			" because it kept sending requests after a 429; wait for the time in Retry-After"}
	case ratelimit.DaySpent:
		return &petcat.Error{Code: petcat.CodeDailyQuotaExceeded, Message: "all " + number(d.Day.Limit) +
			" requests of the day are used; the next day begins at " + moment(d.Day.Reset) + warning(d)}
	default:
		return &petcat.Error{Code: petcat.CodeRateLimitExceeded, Message: "all " + number(d.Minute.Limit) +
			" requests of the minute are used; the next minute begins in " + wait(d.RetryAfter) + warning(d)}
	}
}

// warning says how many more early retries lead to a ban, "" if the caller is not close to
// one.
func warning(d ratelimit.Decision) string {
	if !d.Warn {
		return ""
	}
	return "; wait for the time in Retry-After: after " + count(d.EarlyRetriesLeft, "more early retry", "more early retries") +
		" this key will be banned for a while"
}

func moment(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

func number(n int64) string { return strconv.FormatInt(n, 10) }

func wait(seconds int64) string { return count(seconds, "second", "seconds") }

// count returns a number with what it counts.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}
