package petcat

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// maxBody is the maximum size of a response, in bytes. A list of 1,000,000 categories
// typically has 70 MB.
const maxBody = 512 << 20

var errTooLong = fmt.Errorf("the response has more than %d bytes", maxBody)

// The paths of the operations that do not count against the limits.
const (
	usagePath        = "/usage"
	usageHistoryPath = "/usage/history"
)

// Response is an HTTP response without its body.
type Response struct {
	Status    int
	Header    http.Header
	RequestID string // for the operator of the service
	ETag      string // of the list or the category; empty if there is none
	Limits    Limits
	// Replayed is true if a create returned the result of an earlier request with the same
	// idempotency key, which may be one of the same call whose response was lost.
	Replayed bool
}

// Do calls an operation of the API by its method and its path below /v1, such as
// /categories?limit=10, with the same retries and limits as the other methods. It sends in as
// JSON and decodes the response into out; both may be nil. A POST gets a random
// Idempotency-Key, unless an option sets one. A response that is not the service's, such as a
// login page with status 200, is a [ConnectionError]. The Response is nil if there was none to
// the last request.
func (c *Client) Do(ctx context.Context, method, path string, in, out any, options ...Option) (*Response, error) {
	path = "/" + strings.TrimLeft(path, "/")
	r := &call{Client: c, method: method, url: c.base.String() + path}
	r.path, _, _ = strings.Cut(path, "?")
	var err error
	if r.settings, err = c.settings.with(options); err != nil {
		return nil, err
	}
	if in != nil {
		if r.body, err = json.Marshal(in); err != nil {
			return nil, r.failed(err, nil)
		}
	}
	if method == http.MethodPost && r.header.Get(headerIdempotencyKey) == "" {
		WithIdempotencyKey(randomKey())(&r.settings)
	}
	res, err := r.do(ctx)
	if err != nil || res.Status >= http.StatusMultipleChoices {
		return res, err
	}
	if err := r.decode(res.Status, out); err != nil {
		r.unknownSince = now()
		err = fmt.Errorf("the response with status %d is not from the service; is %s its URL? %w", res.Status, r.base, err)
		return res, r.failed(&ConnectionError{Err: err}, nil)
	}
	return res, nil
}

// decode decodes the successful response into out. Without a body, the service responds with
// status 204, and so to each delete.
func (r *call) decode(status int, out any) error {
	switch {
	case out != nil:
		return decode(r.response, out)
	case status == http.StatusNoContent:
		return nil
	case r.method == http.MethodDelete, !json.Valid(r.response):
		return errors.New("it is not the response to a " + r.method)
	}
	return nil
}

// decode decodes the body of a success. It ignores unknown members, which later versions of
// the service may add.
func decode(body []byte, out any) error {
	if err := json.Unmarshal(body, out); err != nil {
		return err
	}
	one, isOne := out.(resource)
	all, isList := out.(interface{ valid() bool })
	if isOne && one.id() <= 0 || isList && !all.valid() || string(bytes.TrimSpace(body)) == "null" {
		return errors.New("it does not contain the result")
	}
	return nil
}

// call is one call of an operation. All its requests are the same.
type call struct {
	*Client
	settings

	method, path, url string
	body              []byte // nil: none
	response          []byte // the body of the successful response
	// unknownSince is when the first request was sent whose outcome is unknown; zero if there
	// is none.
	unknownSince time.Time
}

// do sends requests until one succeeds, or fails in a way that a retry cannot change.
func (r *call) do(ctx context.Context) (*Response, error) {
	var last error
	for n := 1; ; n++ {
		pass, err := r.enter(ctx)
		if err != nil {
			return nil, r.failed(err, last)
		}
		sent := now()
		if r.expired(sent) {
			pass.done(Limits{}, nil)
			return nil, r.failed(last, nil)
		}
		res, err := r.send(ctx, pass)
		if err == nil || r.unknown() && r.method == http.MethodDelete && isDeleted(err) {
			return res, nil // an earlier request of this call deleted it
		}
		if !r.unknown() && outcomeUnknown(err) {
			r.unknownSince = sent
		}
		retryAfter := asError(err).RetryAfter
		wait := retryAfter + backoff(n)
		if pass != nil && asError(err).Status == http.StatusTooManyRequests {
			wait = 0 // the gate delays the next request
		}
		deadline, hasDeadline := ctx.Deadline()
		retries := r.retries
		if lost := (*ConnectionError)(nil); !r.responded.Load() && errors.As(err, &lost) && !lost.sent {
			retries = min(retries, firstConnections)
		}
		tooLong := retryAfter > r.maxWait || hasDeadline && !now().Add(wait).Before(deadline)
		if n > retries || ctx.Err() != nil || !r.mayRetry(err) || tooLong {
			return res, r.failed(err, nil)
		}
		last = err
		r.log(ctx, slog.LevelInfo, "request failed and is retried",
			slog.Int("attempt", n), slog.Duration("wait", wait), slog.Any("error", err))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return res, r.failed(ctx.Err(), err)
		}
	}
}

// firstConnections is the maximum number of retries of a failed connection while the service has never
// responded, which take at most 1.5 s: the URL may be wrong.
const firstConnections = 2

// isDeleted reports whether a response is the service's for a missing resource. A 404 without
// this code is a proxy's.
func isDeleted(err error) bool {
	e := asError(err)
	return e.Status == http.StatusNotFound && e.Code == CodeNotFound
}

func (r *call) unknown() bool { return !r.unknownSince.IsZero() }

// keyLife is the maximum time that a create is retried with its idempotency key. The service keeps a key
// for 24 hours; after that, the request would create a second category.
const keyLife = 23 * time.Hour

// expired reports whether the outcome of an earlier request is unknown and the service may
// have forgotten its idempotency key.
func (r *call) expired(at time.Time) bool {
	return r.header.Get(headerIdempotencyKey) != "" && r.unknown() && at.Sub(r.unknownSince) > keyLife
}

// enter passes the gate. The pass of a request that does not count is nil.
func (r *call) enter(ctx context.Context) (*pass, error) {
	if path, _, _ := strings.Cut(r.path, "?"); path == usagePath || path == usageHistoryPath || path == keyPath {
		return nil, ctx.Err()
	}
	return r.gate.enter(ctx, r.maxWait, func(wait time.Duration, why *Error) {
		attributes := []slog.Attr{slog.Duration("wait", wait)}
		if why != nil {
			attributes = append(attributes, slog.Any("error", why))
		}
		r.log(ctx, slog.LevelInfo, "waiting for the limits of the account", attributes...)
	})
}

// failed returns the error of a call that stopped because of why. last is the error of its last
// request before that, or nil.
func (r *call) failed(why, last error) error {
	if asError(why).Status == http.StatusTooManyRequests && asError(last).Status == http.StatusTooManyRequests {
		why, last = last, nil // the same, from the service itself
	}
	err := fmt.Errorf("petcat: %s %s: %w", r.method, r.base.Path+r.path, why)
	if last != nil {
		err = fmt.Errorf("%w; the last request: %w", err, last)
	}
	if r.unknown() && r.method != http.MethodGet {
		err = fmt.Errorf("%w; %w", err, ErrOutcomeUnknown)
	}
	return err
}

// send sends one request, and reports its outcome to the gate.
func (r *call) send(ctx context.Context, pass *pass) (*Response, error) {
	var asked, connected atomic.Bool
	req, err := r.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	if err != nil {
		pass.done(Limits{}, nil)
		return nil, err
	}
	lost := func(err error) (*Response, error) {
		if e := (*url.Error)(nil); errors.As(err, &e) {
			err = e.Err // without the URL
		}
		// A transport that does not report connections may have sent it.
		sent := connected.Load() || !asked.Load()
		if !sent && ctx.Err() == nil {
			err = fmt.Errorf("cannot connect to %s: %w", address(r.base), err)
		}
		return nil, &ConnectionError{Err: err, sent: sent}
	}
	response, err := r.http.Do(req)
	if err != nil {
		pass.done(Limits{}, nil)
		return lost(err)
	}
	defer func() { _ = response.Body.Close() }() // the body was already read
	r.responded.Store(true)
	h := response.Header
	res := &Response{
		Status:    response.StatusCode,
		Header:    h,
		RequestID: h.Get("X-Request-Id"),
		ETag:      h.Get("ETag"),
		Limits:    readLimits(h),
		Replayed:  h.Get("Idempotent-Replayed") == "true",
	}
	r.log(ctx, slog.LevelDebug, "response", slog.Int("status", res.Status), slog.String("request_id", res.RequestID))
	var failure *Error
	unchanged := res.Status == http.StatusNotModified && r.header.Get(headerIfNoneMatch) != ""
	if res.Status >= http.StatusMultipleChoices && !unchanged {
		failure = readError(response, res, r.path)
	}
	r.learn(res, failure, pass)
	if failure != nil {
		return res, failure
	}
	r.response, err = io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return lost(fmt.Errorf("read the response: %w", err))
	}
	if len(r.response) > maxBody {
		return lost(errTooLong)
	}
	return res, nil
}

// learn keeps the limits of a response, and reports the result to the gate.
func (r *call) learn(res *Response, failure *Error, pass *pass) {
	var rejected *Error
	changes := failure != nil && failure.Code == CodeTooManyChanges // other requests continue
	if res.Status == http.StatusTooManyRequests && !changes {
		rejected = failure
	}
	limits := res.Limits
	if res.Status == http.StatusUnauthorized || res.Status >= http.StatusInternalServerError ||
		changes || failure != nil && failure.Code == CodeAddressNotAllowed ||
		rejected != nil && (pass == nil || rejected.Code == CodeTooManyFailedAttempts) {
		limits = Limits{} // they are not the account's
	}
	if limits.Limit > 0 {
		r.limits.Store(&limits)
	}
	pass.done(limits, rejected)
}

// address returns host and port of a URL.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// request returns a new HTTP request.
func (r *call) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.header)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", r.userAgent())
	r.authorize(req.Header)
	switch {
	case r.body == nil:
	case r.method == http.MethodPatch:
		req.Header.Set("Content-Type", "application/merge-patch+json")
	default:
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

func (r *call) log(ctx context.Context, level slog.Level, message string, more ...slog.Attr) {
	if r.logger != nil {
		attributes := append([]slog.Attr{slog.String("method", r.method), slog.String("path", r.path)}, more...)
		r.logger.LogAttrs(ctx, level, message, attributes...) //nolint:sloglint // all messages are constant
	}
}

// The delays between the requests of one call, before jitter: they double from the first to
// the maximum.
const (
	firstDelay = 500 * time.Millisecond
	maxDelay   = 30 * time.Second
)

// doubled returns a duration doubled n times, but at most maximum.
func doubled(first, maximum time.Duration, n int) time.Duration {
	return min(first<<min(max(n, 0), 16), maximum)
}

// jitter returns a random duration below d, so that clients do not retry at the same time.
func jitter(d time.Duration) time.Duration { return rand.N(d) }

// backoff returns a random delay before the n-th retry.
func backoff(n int) time.Duration {
	d := doubled(firstDelay, maxDelay, n-1)
	return d/2 + jitter(d/2)
}

// mayRetry reports whether the request may be sent again after an error.
func (r *call) mayRetry(err error) bool {
	// Only an update without a condition is unsafe to repeat if it was carried out.
	safe := r.method != http.MethodPatch || r.header.Get(headerIfMatch) != ""
	e := asError(err)
	switch e.Status {
	case 0:
		lost, untrusted := (*ConnectionError)(nil), (*tls.CertificateVerificationError)(nil)
		return safe && errors.As(err, &lost) &&
			!errors.As(err, &untrusted) && !errors.Is(err, http.ErrSchemeMismatch) && !errors.Is(err, errTooLong)
	case http.StatusTooManyRequests, http.StatusRequestTimeout: // it was not carried out
		// A retry would send the same wrong key, or be a day late.
		return e.Code != CodeTooManyFailedAttempts && e.Code != CodeTooManyChanges
	case http.StatusInternalServerError,
		http.StatusBadGateway,
		http.StatusServiceUnavailable,
		http.StatusGatewayTimeout,
		520, 521, 522, 523, 524: // the last five come from proxies
		return safe
	case http.StatusConflict: // the first request with this idempotency key is still running
		return safe && e.RetryAfter > 0
	default:
		return false
	}
}

// outcomeUnknown reports whether a failed request may have been carried out; docs/retries.md lists the
// responses for which that is unknown.
func outcomeUnknown(err error) bool {
	e, lost := asError(err), (*ConnectionError)(nil)
	return e.Status >= http.StatusInternalServerError ||
		e.Code == CodeIdempotencyInProgress ||
		errors.As(err, &lost) && lost.sent
}

// randomKey returns an idempotency key.
func randomKey() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }
