// Package apicheck checks every response of the service under test, whatever the test is
// about: the schema in the OpenAPI document, the common headers, the error format, and the invariants of
// the limit headers.
//
// Only tests may import it.
package apicheck

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Transport is an HTTP transport that checks all responses.
type Transport struct {
	t    testing.TB
	base http.RoundTripper
	// now returns the Unix second on the limiter's clock.
	now      func() int64
	document *document
}

// New returns a transport over base, http.DefaultTransport if nil. A response that breaks a
// rule fails t.
func New(t testing.TB, base http.RoundTripper, now func() int64) *Transport {
	t.Helper()
	d, err := theDocument()
	if err != nil {
		t.Fatal(err)
	}
	if base == nil {
		base = http.DefaultTransport
	}
	return &Transport{t: t, base: base, now: now, document: d}
}

// RoundTrip sends a request and checks the response. It reads the whole body.
func (c *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	before := c.now()
	res, err := c.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if closeErr := res.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	after := c.now()
	if strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/v1" || res.StatusCode >= http.StatusBadRequest {
		c.check(r, res, body, before, after)
	}
	return res, nil
}

// check reports the faults of a response.
func (c *Transport) check(r *http.Request, res *http.Response, body []byte, before, after int64) {
	what := fmt.Sprintf("%s %s: %d", r.Method, r.URL.Path, res.StatusCode)
	for _, problem := range Problems(res, body, before, after) {
		c.t.Errorf("%s: %s", what, problem)
	}
	if err := c.validate(r, res, body); err != nil {
		c.t.Errorf("%s: differs from the OpenAPI document: %v", what, err)
	}
}

// template returns the document's path template for a path: the path itself, or a template
// whose last segment is a parameter.
func (c *Transport) template(path string) string {
	if c.document.Paths.Value(path) != nil {
		return path
	}
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || i == len(path)-1 {
		return path
	}
	for described := range c.document.Paths.Map() {
		if before, _, ends := strings.Cut(described, "/{"); ends && before == path[:i] {
			return described
		}
	}
	return path
}

// validate checks a response against the OpenAPI document.
func (c *Transport) validate(r *http.Request, res *http.Response, body []byte) error {
	path, below := strings.CutPrefix(r.URL.EscapedPath(), "/v1")
	if !below {
		return nil
	}
	path = c.template(path)
	item := c.document.Paths.Value(path)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if item == nil || item.GetOperation(method) == nil {
		return nil // not an operation; Problems has checked the rest
	}
	o := item.GetOperation(method)
	if names := c.undocumented(o, res); len(names) > 0 {
		return fmt.Errorf("the OpenAPI document has this response without the headers %q", names)
	}
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" {
		return nil // encoding tests check the body themselves
	}
	if err := record(r, res, body); err != nil {
		return err
	}
	return c.document.response(o, place{"paths", path, strings.ToLower(method)}, res, body)
}

// undocumented returns the headers that the document describes only for other responses. The
// headers for deprecations, ignored parameters and CORS may be on any response.
func (c *Transport) undocumented(o *openapi3.Operation, res *http.Response) (names []string) {
	described := o.Responses.Value(strconv.Itoa(res.StatusCode))
	if described == nil {
		return nil // document.response reports the status
	}
	for name := range c.document.Components.Headers {
		value := strings.Join(res.Header.Values(name), ", ")
		switch {
		case value == "", described.Value.Headers[name] != nil:
		case name == "Deprecation", name == "Sunset", name == "Vary", name == "X-Ignored-Parameters":
		case name == "Link" && !strings.Contains(value, `rel="next"`):
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
