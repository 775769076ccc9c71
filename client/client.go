package client

import (
	"errors"
	"fmt"
	"net"
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

// Paused returns until when calls wait because the service rejects requests or would reject
// them, and the reason, which is nil while the client is not paused. It is for programs that
// show their users what they wait for.
func (c *Client) Paused() (until time.Time, reason *Error) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.gate.closed == nil || !now().Before(c.gate.opens) {
		return time.Time{}, nil
	}
	return c.gate.opens, c.gate.closed.notSent(c.gate.opens.Sub(now()))
}

// Option changes how a [Client] works.
type Option func(*Client)

// WithHTTPClient sends requests with a copy of an http.Client, with its timeouts and its
// transport. Redirects are not followed, whatever its CheckRedirect is.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) { c.http = new(*h) }
}

// WithTransport sends requests with a transport: one with other certificates or proxies,
// one that counts requests, or one that answers them in a test. It must not change the
// Authorization header.
func WithTransport(t http.RoundTripper) Option {
	return func(c *Client) { c.http.Transport = t }
}

// WithRetries lets a call retry its request up to n times; 0 for never. The default
// is 8, which outlasts an outage of three quarters of a minute.
func WithRetries(n int) Option {
	return func(c *Client) { c.retries = max(n, 0) }
}

// WithMaxWait sets the longest time for which a call waits because the service asks it
// to: for a window to end, or a ban. If it is longer, the call returns the reason at
// once. The default is 2 minutes: a call waits for the next minute, but not for the next
// day. A context's deadline limits the time of a call in any case.
func WithMaxWait(d time.Duration) Option {
	return func(c *Client) { c.gate.maxWait = d }
}

// WithUserAgent names the calling program in the User-Agent header, such as "acme/1.2".
func WithUserAgent(product string) Option {
	return func(c *Client) { c.userAgent = product + " " + c.userAgent }
}

// newHTTPClient returns the client that is used when no option gives another.
func newHTTPClient() *http.Client {
	const patience = 10 * time.Second
	return &http.Client{
		Timeout: 2 * time.Minute, // a request with its response: enough for a list of 100 MB at 1 MB/s
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
			TLSHandshakeTimeout:   patience,
			ResponseHeaderTimeout: 3 * patience,
			IdleConnTimeout:       45 * time.Second, // before the service closes it, after 60 s
			MaxIdleConnsPerHost:   100,              // goroutines come back to their connections
			ForceAttemptHTTP2:     true,
			// Without it, all retries would use an HTTP/2 connection that is dead.
			HTTP2: &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience},
		},
	}
}
