// Package petcat is the client of the Pet Category Service. Create one [Client] and share it
// between goroutines. The package depends only on the standard library.
//
// A call returns the result and its [Response], or an error. It retries a request whose
// failure may be temporary up to 8 times, with exponential backoff and jitter, and never
// before Retry-After has passed. Until the service has responded once, it retries a failed
// connection only twice: the URL may be wrong. If a request may have taken effect, the call
// retries it only if that is safe: a read, a delete, a create, whose requests all have the same
// Idempotency-Key, and an update with [WithIfMatch]. It returns any other error immediately.
//
// # The gate
//
// All requests of a Client pass its gate, in the order of the calls. While the limits are
// unknown, the gate allows one request and holds the others until the response arrives, for
// at most a second. The response shows how many requests remain. For the next second, the gate
// allows that number, minus the requests in flight. After that the number is stale, because
// other clients of the account may have used some. When none remain, the gate closes until the
// window resets, plus a random delay, because the window resets for all clients at once.
// A Client that doesn't share its account never gets a 429.
//
// After a 429, the gate closes until Retry-After has passed, plus a random delay that doubles
// with each consecutive 429. Then it allows one request, and spreads the others evenly over
// the minute: if all clients retried at once, most would be rejected again, and early retries
// get a key banned. If the gate would open after a call's deadline, or later than
// [WithMaxWait] allows, the call returns the reason immediately, without sending the request.
//
// # Safety
//
// Only the service gets the key: the Client doesn't follow redirects, and neither errors nor a
// printed Client show the key.
package petcat

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// Version is the version of this package. Each request's User-Agent contains it.
const Version = "1.0.0"

// apiVersion begins the path of every request.
const apiVersion = "/v1"

// The defaults of the options.
const (
	defaultRetries = 8 // with the delays in call.go, enough for an outage of 45 seconds
	defaultMaxWait = 2 * time.Minute
)

// Client calls one service with one key. It is safe for concurrent use. Share it: each Client
// has its own gate.
type Client struct {
	Categories *Categories
	Pets       *Pets
	Orders     *Orders
	Key        *Key

	base *url.URL // ends in apiVersion
	// authorize sets the key. Fields do not contain the key, so that a printed Client does not show it.
	authorize func(http.Header)
	settings  settings // of a call without options
	gate      gate
	limits    atomic.Pointer[Limits] // nil before the first response
	responded atomic.Bool            // by the service, or by a proxy
}

// New returns a Client for the service at a URL, such as https://petcat.example.com/v1, and
// a key. The /v1 is optional. An empty URL is read from the environment variable PETCAT_URL,
// and an empty key from PETCAT_API_KEY. The options apply to all calls. New does not send a request.
// Its errors never contain the key.
func New(serviceURL, key string, options ...Option) (*Client, error) {
	if serviceURL == "" {
		serviceURL = os.Getenv("PETCAT_URL") //nolint:forbidigo // documented above
	}
	if key == "" {
		key = os.Getenv("PETCAT_API_KEY") //nolint:forbidigo // documented above
	}
	base, err := parseBase(serviceURL)
	if err != nil {
		return nil, err
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	c := &Client{
		base:      base,
		authorize: func(h http.Header) { h.Set("Authorization", "Bearer "+key) },
		settings:  settings{http: newHTTPClient(), retries: defaultRetries, maxWait: defaultMaxWait},
	}
	c.Categories, c.Pets, c.Orders, c.Key = &Categories{c}, &Pets{c}, &Orders{c}, &Key{c}
	c.settings, err = c.settings.with(options)
	for _, name := range []string{headerIdempotencyKey, headerIfMatch, headerIfNoneMatch} {
		if c.settings.header.Get(name) != "" {
			return nil, fmt.Errorf("petcat: %s is for one call; pass it to the call instead of New", name)
		}
	}
	return c, err
}

// parseBase parses the URL of a service. Its errors do not quote the URL, because a caller may
// have passed the key by mistake.
func parseBase(serviceURL string) (*url.URL, error) {
	base, err := url.Parse(serviceURL)
	switch {
	case serviceURL == "":
		return nil, errors.New("petcat: the URL of the service is empty; pass it, or set PETCAT_URL")
	case err != nil, base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, errors.New("petcat: the service URL must look like https://petcat.example.com/v1")
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, errors.New(
			"petcat: the URL of the service must have no user, query or fragment; the API key is the second argument")
	}
	path := strings.TrimSuffix(strings.TrimRight(base.Path, "/"), apiVersion)
	base.Path, base.RawPath = strings.TrimRight(path, "/")+apiVersion, ""
	return base, nil
}

func checkKey(key string) error {
	bad := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' }
	switch {
	case key == "":
		return errors.New("petcat: the API key is empty; pass it, or set PETCAT_API_KEY")
	case strings.ContainsFunc(key, bad):
		return errors.New(
			"petcat: the API key contains white space, quotes or other characters that no key has; " +
				"did it keep a line break at its end?")
	}
	return nil
}

// Limits returns the account's limits in the last response, or the zero value before the
// first response. It does not send a request; [Client.Usage] does.
func (c *Client) Limits() Limits {
	if l := c.limits.Load(); l != nil {
		return *l
	}
	return Limits{}
}

// settings are the values of the options.
type settings struct {
	http      *http.Client // does not follow redirects
	logger    *slog.Logger // nil: none
	product   string       // a space and the calling program, or ""
	retries   int
	maxWait   time.Duration
	header    http.Header // of each request; replaced, never modified
	badOption error
}

// Option configures a [Client] or one call. [WithIdempotencyKey] and [WithIfMatch] are only for
// one call.
type Option func(*settings)

// with returns the settings with options applied.
func (s settings) with(options []Option) (settings, error) {
	for _, change := range options {
		change(&s)
	}
	return s, s.badOption
}

// WithHTTPClient sends requests with a copy of an http.Client, including its timeouts and its
// transport. Redirects are not followed, even if it has a CheckRedirect. A nil client is an
// error; leave the option out for the default.
func WithHTTPClient(h *http.Client) Option {
	if h == nil {
		return func(s *settings) {
			s.badOption = errors.New("petcat: WithHTTPClient got no client; leave it out for the default")
		}
	}
	own := *h
	// A redirect could send the key to another host, and turn a create into a read.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(s *settings) { s.http = &own }
}

// WithRetries sets the maximum number of retries of a call; 0 disables retries. The
// default is 8, enough for an outage of 45 seconds.
func WithRetries(n int) Option {
	return func(s *settings) { s.retries = n }
}

// WithMaxWait sets the maximum time that a call waits for a window to reset or a ban to end. If the
// wait would be longer, the call returns the reason at once. The default is 2 minutes: enough
// for the next minute, not for the next day. The context's deadline also applies. It does
// not limit the wait behind earlier calls: after a 429, up to a minute for each.
func WithMaxWait(d time.Duration) Option {
	return func(s *settings) { s.maxWait = d }
}

// WithUserAgent adds the calling program, such as "acme/1.2", to the User-Agent header.
func WithUserAgent(product string) Option {
	return func(s *settings) { s.product = " " + product }
}

// WithLogger logs each retry, and each wait of more than a second for the limits of the account
// before it begins, at level Info. It logs each response at level Debug.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) { s.logger = logger }
}

// WithHeader sends a header. Authorization, User-Agent, Accept and Content-Type cannot be set.
func WithHeader(name, value string) Option {
	return func(s *settings) {
		control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
		badName := name == "" || strings.ContainsFunc(name, control) || strings.ContainsAny(name, ` "(),/:;<=>?@[\]{}`)
		if badName || strings.ContainsFunc(value, control) {
			s.badOption = fmt.Errorf("petcat: the header %q cannot be sent with the value %q", name, value)
			return
		}
		if s.header = s.header.Clone(); s.header == nil {
			s.header = http.Header{}
		}
		s.header.Set(name, value)
	}
}

// WithIdempotencyKey sets the Idempotency-Key of a create: within 24 hours, a second create
// with the same key and content returns the result of the first, and [Response].Replayed is
// true. Use it if your program may repeat the create, for example after a restart. The key has
// 1 to 255 visible ASCII characters, without double quotes. By default, each create has a
// random key, which all its requests share.
func WithIdempotencyKey(key string) Option { return withContent(headerIdempotencyKey, key) }

// WithIfMatch makes an update or a delete conditional: it fails with [CodePreconditionFailed]
// unless the category has this ETag, which Create, Get and Update return. An empty ETag is an error,
// because the request would be unconditional.
func WithIfMatch(etag string) Option { return withContent(headerIfMatch, etag) }

const (
	headerIdempotencyKey = "Idempotency-Key"
	headerIfMatch        = "If-Match"
	headerIfNoneMatch    = "If-None-Match"
)

// withContent is [WithHeader] for a value that must not be empty.
func withContent(name, value string) Option {
	if value == "" {
		return func(s *settings) {
			s.badOption = fmt.Errorf("petcat: the value of %s is empty, so nothing was sent", name)
		}
	}
	return WithHeader(name, value)
}

// newHTTPClient returns the default client.
func newHTTPClient() *http.Client {
	var s settings
	WithHTTPClient(&http.Client{
		Timeout: 2 * time.Minute, // of a request with its response: enough for a list of 100 MB at 1 MB/s
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
			TLSHandshakeTimeout:   patience,
			ResponseHeaderTimeout: 3 * patience,
			IdleConnTimeout:       45 * time.Second, // before the service closes it, after 60 s
			MaxIdleConnsPerHost:   100,
			ForceAttemptHTTP2:     true,
			// Without pings, all retries would use one dead connection.
			HTTP2: &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience},
		},
	})(&s)
	return s.http
}

// patience is the timeout of each step of a connection.
const patience = 10 * time.Second

// userAgent returns the User-Agent header.
func (s *settings) userAgent() string {
	return fmt.Sprintf("petcat-go/%s (%s; %s/%s)%s",
		Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, s.product)
}
