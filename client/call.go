package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"
)

// How much of a response is read at most, in bytes.
const (
	// maxBody: the longest category has 66,000 bytes, if everything in it is escaped.
	maxBody = 1 << 20
	// maxListBody: a list of 1,000,000 categories usually has 70 MB.
	maxListBody = 512 << 20
)

// call is one call of an operation. It may take several requests, which are all the same.
type call struct {
	name   string // for errors, such as "create category"
	method string
	path   string     // below the version
	query  url.Values // nil: none
	body   any        // sent as JSON; nil: none
	// bodyType is the Content-Type of the body.
	bodyType string
	header   map[string]string // "" is not sent
	maxBody  int64             // of a response
	// retryable says that a second request does no harm when the outcome of the
	// first is unknown.
	retryable bool
	// uncounted says that the request counts in no window, and does not pass the gate.
	uncounted bool
	// unknownSince is when the first request was sent that may have been carried out
	// although no response says so. It is zero if there is none.
	unknownSince time.Time
}

// response is a success.
type response struct {
	header http.Header
	status int
	body   []byte
}

// do calls an operation: it sends requests until one succeeds, or fails in a way that a
// retry cannot change.
func (c *Client) do(ctx context.Context, r *call) (*response, error) {
	body, err := json.Marshal(r.body)
	if err != nil {
		return nil, r.failed(err, nil)
	}
	for n := 1; ; n++ {
		pass, held := c.enter(ctx, r)
		if held != nil {
			return nil, r.failed(held, err)
		}
		sent := now()
		if r.expired(sent) {
			pass.unanswered()
			return nil, r.failed(err, nil)
		}
		var res *response
		if res, err = c.send(ctx, r, body, pass); err == nil {
			return res, nil
		}
		if r.unknownSince.IsZero() && mayHaveHappened(err) {
			r.unknownSince = sent
		}
		if n > c.retries || ctx.Err() != nil || !r.mayRetry(err) {
			return nil, r.failed(err, nil)
		}
		if isStatus(err, http.StatusTooManyRequests) && !r.uncounted {
			continue // the gate makes the next request wait
		}
		wait := delay(err, n)
		if !c.mayWait(ctx, err, wait) {
			return nil, r.failed(err, nil)
		}
		if stopped := pause(ctx, wait); stopped != nil {
			return nil, r.failed(stopped, err)
		}
	}
}

// enter passes the gate.
func (c *Client) enter(ctx context.Context, r *call) (*pass, error) {
	if r.uncounted {
		return nil, ctx.Err()
	}
	return c.gate.enter(ctx)
}

// failed returns the error of a call: why is the reason that it ended, last the error of its
// last request before that, or nil.
func (r *call) failed(why, last error) error {
	err := fmt.Errorf("petcat: %s: %w", r.name, why)
	switch {
	case last == nil:
	case isStatus(why, http.StatusTooManyRequests) && isStatus(last, http.StatusTooManyRequests):
		err = fmt.Errorf("petcat: %s: %w", r.name, last) // the same from the service itself
	default:
		err = fmt.Errorf("%w; the last request: %w", err, last)
	}
	if r.method != http.MethodGet && !r.unknownSince.IsZero() {
		err = fmt.Errorf("%w; %w", err, ErrOutcomeUnknown)
	}
	return err
}

// send sends one request, and reports its outcome to the gate.
func (c *Client) send(ctx context.Context, r *call, body []byte, pass *pass) (*response, error) {
	req, err := c.request(ctx, r, body)
	if err != nil {
		pass.unanswered()
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		pass.unanswered()
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // the body was already read
	limits, known := readLimits(res.Header, now())
	refused := res.StatusCode == http.StatusTooManyRequests
	if known && !(refused && r.uncounted) { // else they are of a window that is no quota
		c.limits.Store(&limits)
	}
	if refused {
		e := readError(res)
		pass.refused(e)
		return nil, e
	}
	pass.answered(limits)
	conditional := r.header["If-None-Match"] != ""
	if res.StatusCode >= http.StatusMultipleChoices && !(conditional && res.StatusCode == http.StatusNotModified) {
		return nil, readError(res)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, r.maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	if int64(len(data)) > r.maxBody {
		return nil, errTooLong
	}
	return &response{header: res.Header, status: res.StatusCode, body: data}, nil
}

// request makes the HTTP request.
func (c *Client) request(ctx context.Context, r *call, body []byte) (*http.Request, error) {
	target := c.base.JoinPath(r.path)
	target.RawQuery = r.query.Encode()
	if r.body == nil {
		body = nil
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.authorize(req.Header)
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
		req.Header.Set("Content-Type", r.bodyType)
	}
	for name, value := range r.header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

// fetch calls an operation and decodes its response. It ignores unknown members, because later
// versions of the service may add some.
func fetch[T any](ctx context.Context, c *Client, r *call) (value T, res *response, err error) {
	if res, err = c.do(ctx, r); err != nil || res.status == http.StatusNotModified {
		return value, res, err
	}
	if err := json.Unmarshal(res.body, &value); err != nil {
		r.unknownSince = now()
		return *new(T), nil, r.failed(fmt.Errorf("the response with status %d is not what the service answers: %w", res.status, err), nil)
	}
	return value, res, nil
}

// isStatus reports whether an error is a response with a status.
func isStatus(err error, status int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == status
}

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
	select {
	case <-time.After(d):
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
