// Package apicheck is for tests: it wraps the service under test and checks every
// response, whatever the test is about: the schema of the OpenAPI document, the
// headers that every response has, the form of errors, and what must always hold of
// limits.
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
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Transport checks the answers that pass through it.
type Transport struct {
	t    testing.TB
	base http.RoundTripper
	// now returns the Unix second on the limiter's clock.
	now      func() int64
	document *document

	mu        sync.Mutex
	postponed int      // calls of Postpone that have not ended; guarded by mu
	unchecked []func() // guarded by mu
}

// New returns a transport over base, http.DefaultTransport when it is nil.
// Answers that break a rule fail t.
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

// Postpone has answers checked when the function that it returns is called: what is
// measured meanwhile does not wait for checks.
func (c *Transport) Postpone() (check func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.postponed++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		c.postponed--
		var unchecked []func()
		if c.postponed == 0 {
			unchecked, c.unchecked = c.unchecked, nil
		}
		c.mu.Unlock()
		for _, check := range unchecked {
			check()
		}
	})
}

// check checks now, or when Postpone's function is called.
func (c *Transport) check(check func()) {
	c.mu.Lock()
	later := c.postponed > 0
	if later {
		c.unchecked = append(c.unchecked, check)
	}
	c.mu.Unlock()
	if !later {
		check()
	}
}

// RoundTrip sends a request and checks the answer. The body of the answer is
// read whole.
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
		c.check(func() { c.examine(r, res, body, before, after) })
	}
	return res, nil
}

// examine checks an answer.
func (c *Transport) examine(r *http.Request, res *http.Response, body []byte, before, after int64) {
	what := fmt.Sprintf("%s %s: %d", r.Method, r.URL.Path, res.StatusCode)
	for _, problem := range Problems(res, body, before, after) {
		c.t.Errorf("%s: %s", what, problem)
	}
	if err := c.validate(r, res, body); err != nil {
		c.t.Errorf("%s: not as the interface document says: %v", what, err)
	}
}

// template returns the path in the document that describes a path: itself, or one whose
// last segment is a parameter.
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

// validate checks the answer of an operation against the interface document.
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
		return nil // no operation: Problems has checked what there is to check
	}
	o := item.GetOperation(method)
	if names := c.undocumented(o, res); len(names) > 0 {
		return fmt.Errorf("this answer is described without the headers %q", names)
	}
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" {
		return nil // the tests of encodings read the body themselves
	}
	if err := record(r, res, body); err != nil {
		return err
	}
	return c.document.answer(o, place{"paths", path, strings.ToLower(method)}, res, body)
}

// undocumented returns the headers of an answer that the document describes for other
// answers only. Those that tell of a deprecation, ignored parameters, and the Vary of an
// answer to a web page may be on any answer.
func (c *Transport) undocumented(o *openapi3.Operation, res *http.Response) (names []string) {
	described := o.Responses.Value(strconv.Itoa(res.StatusCode))
	if described == nil {
		return nil // ValidateResponse tells of the status
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
