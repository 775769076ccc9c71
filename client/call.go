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
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// maxBody bounds a response, in bytes. A list of 1,000,000 categories usually has 70 MB.
const maxBody = 512 << 20

var errTooLong = fmt.Errorf("the response has more than %d bytes", maxBody)

// usagePath is the path of the one operation that counts in no window.
const usagePath = "/usage"

// Response is what came with a result.
type Response struct {
	Status    int
	Header    http.Header
	RequestID string // for the operator of the service
	ETag      string // of the list or the category; empty if there is none
	Limits    Limits
	// Replayed says that a create returned the result of an earlier one with the same
	// idempotency key. It may be the first request of the same call, whose response was lost.
	Replayed bool

	body []byte
}

// Do calls an operation of the API by its method and its path below /v1, such as
// /categories?limit=10, with retries and within the limits, as all other methods do. in is
// sent as JSON, and the response is decoded into out, unless they are nil. The Response is
// nil if the last request got none.
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
	if err != nil || out == nil || res.Status >= http.StatusMultipleChoices {
		return res, err
	}
	if err := decode(res.body, out); err != nil {
		r.unknownSince = now()
		return res, r.failed(&ConnectionError{Err: fmt.Errorf("the response with status %d is not the service's: %w", res.Status, err)}, nil)
	}
	return res, nil
}

// decode reads the body of a success. It ignores unknown members, because later versions of
// the service may add some.
func decode(body []byte, out any) error {
	if err := json.Unmarshal(body, out); err != nil {
		return err
	}
	one, isOne := out.(resource)
	all, isList := out.(interface{ valid() bool })
	if isOne && one.id() <= 0 || isList && !all.valid() || string(bytes.TrimSpace(body)) == "null" {
		return errors.New("what was asked for is not in it")
	}
	return nil
}

// call is one call of an operation. It may take several requests, which are all the same.
type call struct {
	*Client
	settings

	method, path, url string
	body              []byte // nil: none
	// unknownSince is when the first request was sent that may have been carried out
	// although no response says so. It is zero if there is none.
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
			pass.unanswered()
			return nil, r.failed(last, nil)
		}
		res, err := r.send(ctx, pass)
		if err == nil || r.unknown() && r.method == http.MethodDelete && isStatus(err, http.StatusNotFound) {
			return res, nil // not found: an earlier request of this call deleted it
		}
		if !r.unknown() && mayHaveHappened(err) {
			r.unknownSince = sent
		}
		if n > r.retries || ctx.Err() != nil || !r.mayRetry(err) {
			return res, r.failed(err, nil)
		}
		last = err
		wait := delay(err, n)
		if pass != nil && isStatus(err, http.StatusTooManyRequests) {
			wait = 0 // the gate makes the next request wait
		}
		if !r.mayWait(ctx, err, wait) {
			return res, r.failed(err, nil)
		}
		r.log(ctx, slog.LevelInfo, "request failed and is retried", slog.Int("attempt", n), slog.Duration("wait", wait), slog.Any("error", err))
		if stopped := pause(ctx, wait); stopped != nil {
			return res, r.failed(stopped, err)
		}
	}
}

func (r *call) unknown() bool { return !r.unknownSince.IsZero() }

// keyLife is how long a create is repeated with one idempotency key. The service keeps the
// key for 24 hours; after that, the request would create a second category.
const keyLife = 23 * time.Hour

// expired reports whether the service may have forgotten the idempotency key, with which an
// earlier request may have been carried out.
func (r *call) expired(at time.Time) bool {
	return r.header.Get(headerIdempotencyKey) != "" && r.unknown() && at.Sub(r.unknownSince) > keyLife
}

// enter passes the gate. The pass of a request that counts in no window is nil.
func (r *call) enter(ctx context.Context) (*pass, error) {
	if r.path == usagePath {
		return nil, ctx.Err()
	}
	return r.gate.enter(ctx, r.maxWait)
}

// failed returns the error of a call: why is the reason that it ended, last the error of its
// last request before that, or nil.
func (r *call) failed(why, last error) error {
	if isStatus(why, http.StatusTooManyRequests) && isStatus(last, http.StatusTooManyRequests) {
		why, last = last, nil // the same from the service itself
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
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	lost := func(err error) (*Response, error) {
		if e := (*url.Error)(nil); errors.As(err, &e) {
			err = e.Err // without the URL
		}
		// A transport that reports no connections may have sent it.
		return nil, &ConnectionError{Err: err, sent: connected.Load() || !asked.Load()}
	}
	req, err := r.request(ctx)
	if err != nil {
		pass.unanswered()
		return nil, err
	}
	answer, err := r.http.Do(req)
	if err != nil {
		pass.unanswered()
		return lost(err)
	}
	defer func() { _ = answer.Body.Close() }() // the body was already read
	res := newResponse(answer)
	r.log(ctx, slog.LevelDebug, "response", slog.Int("status", res.Status), slog.String("request_id", res.RequestID))
	// An answer to a key that is not known, or could not be checked, has limits of an address.
	known := res.Limits.Limit > 0 && res.Status != http.StatusUnauthorized && res.Status < http.StatusInternalServerError
	if res.Status == http.StatusTooManyRequests {
		e := readError(answer, res)
		if e.RetryAfter == 0 && res.Limits.Limit > 0 {
			e.RetryAfter = max(res.Limits.ends.Sub(now()), 0)
		}
		if known && pass != nil && e.Code != CodeTooManyFailedAttempts {
			r.limits.Store(&res.Limits)
		}
		pass.refused(e)
		return res, e
	}
	if known {
		r.limits.Store(&res.Limits)
		pass.answered(res.Limits)
	} else {
		pass.unanswered()
	}
	unchanged := res.Status == http.StatusNotModified && r.header.Get(headerIfNoneMatch) != ""
	if res.Status >= http.StatusMultipleChoices && !unchanged {
		return res, readError(answer, res)
	}
	res.body, err = io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err != nil {
		return lost(fmt.Errorf("read the response: %w", err))
	}
	if len(res.body) > maxBody {
		return lost(errTooLong)
	}
	return res, nil
}

// request makes the HTTP request.
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

func newResponse(answer *http.Response) *Response {
	h := answer.Header
	return &Response{
		Status: answer.StatusCode, Header: h, RequestID: h.Get("X-Request-Id"), ETag: h.Get("ETag"),
		Limits: readLimits(h), Replayed: h.Get("Idempotent-Replayed") == "true",
	}
}

func (r *call) log(ctx context.Context, level slog.Level, message string, more ...slog.Attr) {
	if r.logger != nil {
		attributes := append([]slog.Attr{slog.String("method", r.method), slog.String("path", r.path)}, more...)
		r.logger.LogAttrs(ctx, level, message, attributes...) //nolint:sloglint // both messages are constant
	}
}

// The delays between the requests of one call, before jitter: half a second, one, two,
// four, eight, sixteen, and thirty from then on.
const (
	firstDelay = 500 * time.Millisecond
	maxDelay   = 30 * time.Second
)

// doubled returns a duration that is doubled the given number of times, but at most most.
func doubled(first, most time.Duration, times int) time.Duration {
	return min(first<<min(max(times, 0), 16), most)
}

// jitter returns a random duration below d, so that clients whose requests failed at the
// same time do not retry them at the same time.
func jitter(d time.Duration) time.Duration { return rand.N(d) }

// backoff returns a random delay before the n-th retry.
func backoff(n int) time.Duration {
	d := doubled(firstDelay, maxDelay, n-1)
	return d/2 + jitter(d/2)
}

// delay returns how long a call waits before it retries a request for the n-th time.
func delay(err error, n int) time.Duration {
	d := backoff(n)
	if e := (*Error)(nil); errors.As(err, &e) {
		d += e.RetryAfter
	}
	return d
}

// repeatable reports whether a second request does no harm when the first was carried out.
func (r *call) repeatable() bool {
	return r.method != http.MethodPatch || r.header.Get(headerIfMatch) != ""
}

// mayRetry reports whether the request may be sent again after an error.
func (r *call) mayRetry(err error) bool {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		lost, untrusted := (*ConnectionError)(nil), (*tls.CertificateVerificationError)(nil)
		return r.repeatable() && errors.As(err, &lost) &&
			!errors.As(err, &untrusted) && !errors.Is(err, http.ErrSchemeMismatch) && !errors.Is(err, errTooLong)
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusRequestTimeout: // it was not carried out
		return true
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		520, 521, 522, 523, 524: // the last are those of a proxy in front
		return r.repeatable()
	case http.StatusConflict: // the first request with this idempotency key is still running
		return r.repeatable() && e.RetryAfter > 0
	default:
		return false
	}
}

// mayHaveHappened reports whether a request that ended in an error may have been carried
// out: docs/retries.md says which responses leave that open.
func mayHaveHappened(err error) bool {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Status >= http.StatusInternalServerError || e.Code == CodeIdempotencyInProgress
	}
	lost := (*ConnectionError)(nil)
	return errors.As(err, &lost) && lost.sent
}

// mayWait reports whether the context and [WithMaxWait] allow a wait after an error.
func (r *call) mayWait(ctx context.Context, err error, wait time.Duration) bool {
	if e := (*Error)(nil); errors.As(err, &e) && e.RetryAfter > r.maxWait {
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

// randomKey returns an idempotency key.
func randomKey() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }
