package client

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// The delays between the requests of one call, before jitter: half a second, one, two,
// four, eight, sixteen, and thirty from then on.
const (
	firstDelay = 500 * time.Millisecond
	maxDelay   = 30 * time.Second
)

// keyLife is how long a create is retried with one idempotency key. The service keeps the
// key for 24 hours; after that, a retry would create a second category.
const keyLife = 23 * time.Hour

const headerIdempotencyKey = "Idempotency-Key"

// errTooLong says that a response was not read to its end.
var errTooLong = errors.New("the response is longer than any that the service gives")

// doubled returns a duration that is doubled the given number of times, but at most most.
func doubled(first, most time.Duration, times int) time.Duration {
	return min(first<<min(max(times, 0), 16), most)
}

// jitter returns a random duration below d, so that clients whose requests failed at the
// same time do not retry them at the same time.
func jitter(d time.Duration) time.Duration { return rand.N(d) }

// delay returns how long a call waits before it retries a request for the n-th time.
func delay(err error, n int) time.Duration {
	d := doubled(firstDelay, maxDelay, n-1)
	d = d/2 + jitter(d/2)
	if e, ok := errors.AsType[*Error](err); ok {
		d += e.RetryAfter
	}
	return d
}

// mayRetry reports whether the request may be sent again after an error.
func (r *call) mayRetry(err error) bool {
	e, answered := errors.AsType[*Error](err)
	if !answered {
		_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
		return r.retryable && !untrusted && !errors.Is(err, errTooLong)
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusRequestTimeout: // it was not carried out
		return true
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return r.retryable
	default:
		return r.retryable && e.Code == CodeIdempotencyInProgress
	}
}

// mayHaveHappened reports whether a request that ended in an error may have been carried
// out: docs/retries.md says which responses leave that open.
func mayHaveHappened(err error) bool {
	if e, answered := errors.AsType[*Error](err); answered {
		return e.Status >= http.StatusInternalServerError || e.Code == CodeIdempotencyInProgress
	}
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return false
	}
	failed, network := errors.AsType[*net.OpError](err)
	return !network || failed.Op != "dial"
}

// mayWait reports whether the context and [WithMaxWait] allow a wait after an error.
func (c *Client) mayWait(ctx context.Context, err error, wait time.Duration) bool {
	if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > c.gate.maxWait {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || now().Add(wait).Before(deadline)
}

// pause waits, or returns why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// expired reports whether the service may have forgotten the idempotency key of the call,
// with which an earlier request may have been carried out.
func (r *call) expired(at time.Time) bool {
	return r.header[headerIdempotencyKey] != "" && !r.unknownSince.IsZero() && at.Sub(r.unknownSince) > keyLife
}
