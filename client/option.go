package client

import (
	"net"
	"net/http"
	"time"
)

// Option changes how a [Client] works.
type Option func(*Client)

// WithHTTPClient sends requests with a copy of an http.Client, with its timeouts and its
// transport. Redirects are not followed, whatever its CheckRedirect is.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) {
		own := *h
		c.http = &own
	}
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
