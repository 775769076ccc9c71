package httpapi

import (
	"strconv"
	"time"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/ratelimit"
)

const (
	// FailuresPerMinute is how many failed credentials an address may send in a minute: a
	// busy office behind one address with a wrong key in a script stays below it, guessing
	// at keys does not.
	FailuresPerMinute = 600
	// PeeksPerMinute is how often an account may ask one node for its usage in a minute: it
	// costs the account nothing.
	PeeksPerMinute = 60
)

// admit charges the caller and calls next, or refuses the request. It sets the rate-limit
// headers before any other answer can be written.
func (s *Server) admit(next handler) handler {
	return func(e *exchange) error {
		e.route, e.item = s.find(e.path)
		at := e.endpoint()
		if at != nil {
			e.Operation = at.ID // also of requests that are refused
		}
		if e.caller == nil {
			return s.refuseUnauthenticated(e)
		}
		if at != nil && at.Free {
			return s.admitFree(e, next)
		}
		d, err := s.Limiter.Spend(e.r.Context(), e.charge())
		if err != nil {
			return err
		}
		s.setLimits(e, d)
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

func (e *exchange) charge() ratelimit.Charge {
	return ratelimit.Charge{Account: e.caller.Account, Key: e.caller.Key, Quota: e.caller.Quota}
}

// admitFree calls next without charging the account. A bucket of its own limits such
// requests, so that they are no way around the limits.
func (s *Server) admitFree(e *exchange, next handler) error {
	if d := s.Peeks.Take(e.caller.Account); d.Refused {
		e.setBucketLimits(s.usagePolicy, d)
		e.retryAfter = d.RetryAfter
		return petcat.Errorf(petcat.CodeRateLimitExceeded, "an account may ask for its usage %d times a minute; the next minute begins in %s", d.Minute.Limit, wait(d.RetryAfter))
	}
	d, err := s.Limiter.Peek(e.r.Context(), e.charge())
	if err != nil {
		return err
	}
	s.setLimits(e, d)
	e.Decision = d
	return next(e)
}

// refuseUnauthenticated refuses a request without a valid key. Only a wrong credential counts as a
// failed attempt of the client's address; a missing one does not.
func (s *Server) refuseUnauthenticated(e *exchange) error {
	if !credentialFailed(e.authError) {
		return e.authError
	}
	d := s.Failures.Take(clientnet.Of(e.clientAddress()))
	e.setBucketLimits(s.addressPolicy, d)
	if d.Refused {
		e.retryAfter = d.RetryAfter
		return petcat.Errorf(petcat.CodeTooManyFailedAttempts,
			"too many requests with a wrong API key came from your address; check the key, and try again in %s", wait(d.RetryAfter))
	}
	return e.authError
}

// refusal returns the error for a refused request: why it is refused, and what the caller
// can do.
func refusal(d ratelimit.Decision) error {
	switch d.Verdict {
	case ratelimit.Banned:
		spent := ""
		if d.Effective == d.Minute || d.Effective == d.Day {
			// The account's quota is used up for longer than the ban lasts.
			spent = ", and its account's requests are used up"
		}
		return petcat.Errorf(petcat.CodeKeyBanned, "this API key is banned%s until %s because it kept sending requests after a 429; wait for the time in Retry-After",
			spent, moment(d.Effective.Reset))
	case ratelimit.DaySpent:
		return petcat.Errorf(petcat.CodeDailyQuotaExceeded, "all %d requests of the day are used; the next day begins at %s%s", d.Day.Limit, moment(d.Day.Reset), warning(d))
	default:
		return petcat.Errorf(petcat.CodeRateLimitExceeded, "all %d requests of the minute are used; the next minute begins in %s%s", d.Minute.Limit, wait(d.RetryAfter), warning(d))
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

func wait(seconds int64) string { return count(seconds, "second", "seconds") }

// count returns a number with what it counts.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}
