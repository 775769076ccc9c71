package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// version is the version of the API, which is in the path of every request.
const version = "/v1"

// What a Client does unless an option says otherwise.
const (
	// defaultRetries and the delays of retry.go outlast a service that is away for
	// three quarters of a minute.
	defaultRetries = 8
	// defaultMaxWait is long enough for the end of any minute, but not of most days.
	defaultMaxWait = 2 * time.Minute
)

// Client calls one service with one key. It is safe for concurrent use, and is meant to
// be shared: only calls of the same Client hold each other back.
type Client struct {
	// Categories are the operations on categories.
	Categories *Categories

	base *url.URL // ends in version
	http *http.Client
	// authorize sets the key. The key is in no field, so that no printing of a
	// Client, however deep, can show it.
	authorize func(http.Header)
	userAgent string
	retries   int
	gate      gate
	limits    atomic.Pointer[Limits] // nil before the first response
}

// New returns a Client for the service at a URL, such as https://petcat.example.com/v1, and
// a key. The version at the end of the URL may be left out. New sends nothing. An error
// never quotes the key.
func New(serviceURL, key string, options ...Option) (*Client, error) {
	base, err := parseBase(serviceURL)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, errors.New("petcat: the API key is empty")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("petcat: the API key contains white space or characters that no key has; was it read with the end of its line?")
	}
	c := &Client{
		base:      base,
		http:      newHTTPClient(),
		authorize: func(h http.Header) { h.Set("Authorization", "Bearer "+key) },
		userAgent: fmt.Sprintf("petcat-go (%s; %s/%s)", runtime.Version(), runtime.GOOS, runtime.GOARCH),
		retries:   defaultRetries,
		gate:      gate{maxWait: defaultMaxWait},
	}
	c.Categories = &Categories{client: c}
	for _, set := range options {
		set(c)
	}
	// A redirect could lead the key to another host, and would turn a create into a read.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// parseBase reads the URL of a service. It never quotes it: it may be the key, given in
// the wrong place.
func parseBase(serviceURL string) (*url.URL, error) {
	base, err := url.Parse(serviceURL)
	switch {
	case err != nil, base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, errors.New("petcat: the URL of the service must be like https://petcat.example.com/v1")
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, errors.New("petcat: the URL of the service must have no user, query or fragment; the API key is the second argument")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	if !strings.HasSuffix(base.Path, version) {
		base.Path += version
	}
	base.RawPath = ""
	return base, nil
}

// Limits returns the limits in the last response that had them, and the zero value before the
// first such response. It sends no request; [Client.Usage] does.
func (c *Client) Limits() Limits {
	if l := c.limits.Load(); l != nil {
		return *l
	}
	return Limits{}
}

// Held returns until when the gate is closed because the service refuses requests or would
// refuse them, and why. Calls that come meanwhile wait. why is nil while the gate is not
// closed for that. Held is for programs that show their users what they wait for.
func (c *Client) Held() (until time.Time, why *Error) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.gate.closed == nil || !now().Before(c.gate.opens) {
		return time.Time{}, nil
	}
	return c.gate.opens, c.gate.closed.notSent(c.gate.opens.Sub(now()))
}
