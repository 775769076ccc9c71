// Package petcat calls a Pet Category Service. A [Client] is made once and shared by any
// number of goroutines. The package imports the standard library alone.
//
// A call returns the result and the [Response] that brought it, or an error. A request whose
// failure may be temporary is retried, up to 8 times, at growing and random intervals, and
// never earlier than Retry-After says. A request that may have been carried out is repeated
// only where a second one does no harm: a read, a delete, a create, all of whose requests
// have one Idempotency-Key, and an update with [WithIfMatch]. Any other error is returned at
// once.
//
// # The gate
//
// All requests of a Client pass one gate, in the order of their calls. While the limits are
// unknown, the gate lets one request pass and holds the others back until that one is
// answered, for at most a second. A response says how many requests remain. For a second, the
// gate lets that many pass, less those in flight; after that, other clients of the account
// may have used them. When none remain, the gate closes until the window has ended and a
// little longer, because the windows of all clients end at the same time. So a Client that is
// alone on its account gets no 429.
//
// If other clients use the account too, and a request gets a 429, the gate closes until
// Retry-After has passed and a random time longer, which doubles with each 429 in a row.
// When it opens, one request goes first again, and the others are spread evenly over that
// window: clients that all send again at once are refused again, and early retries get a
// key banned. A call whose context would end before the gate opens, or that would wait
// longer than [WithMaxWait] allows, returns the reason at once and sends nothing.
//
// # Safety
//
// The key is sent only to the service: redirects are not followed, and no error and no
// printed Client shows the key.
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

// Version is the version of this package. The User-Agent of each request names it.
const Version = "1.0.0"

// apiVersion is the version of the API, which is in the path of every request.
const apiVersion = "/v1"

// What a Client does unless an option says otherwise.
const (
	// defaultRetries and the delays in call.go outlast a service that is away for three
	// quarters of a minute.
	defaultRetries = 8
	// defaultMaxWait is long enough for the end of any minute, but not of most days.
	defaultMaxWait = 2 * time.Minute
)

// Client calls one service with one key. It is safe for concurrent use. Share it: only calls
// of the same Client hold each other back.
type Client struct {
	Categories *Categories
	Pets       *Pets
	Orders     *Orders

	base *url.URL // ends in apiVersion
	// authorize sets the key. The key is in no field, so that no printing of a
	// Client, however deep, can show it.
	authorize func(http.Header)
	settings  settings // of a call without options
	gate      gate
	limits    atomic.Pointer[Limits] // nil before the first response
}

// New returns a Client for the service at a URL, such as https://petcat.example.com/v1, and
// a key. The version at the end of the URL may be left out. An empty URL is read from the
// environment variable PETCAT_URL, and an empty key from PETCAT_API_KEY. The options hold
// for all calls. New sends nothing. An error never quotes the key.
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
	c.Categories, c.Pets, c.Orders = &Categories{c}, &Pets{c}, &Orders{c}
	c.settings, err = c.settings.with(options)
	return c, err
}

// parseBase reads the URL of a service. It never quotes it: it may be the key, given in
// the wrong place.
func parseBase(serviceURL string) (*url.URL, error) {
	base, err := url.Parse(serviceURL)
	switch {
	case serviceURL == "":
		return nil, errors.New("petcat: the URL of the service is empty; pass it, or set PETCAT_URL")
	case err != nil, base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, errors.New("petcat: the URL of the service must be like https://petcat.example.com/v1")
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, errors.New("petcat: the URL of the service must have no user, query or fragment; the API key is the second argument")
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
		return errors.New("petcat: the API key contains white space, quotes or other characters that no key has; was it read with the end of its line?")
	}
	return nil
}

// Limits returns the limits in the last response that had those of the account, and the zero
// value before the first one. It sends no request; [Client.Usage] does.
func (c *Client) Limits() Limits {
	if l := c.limits.Load(); l != nil {
		return *l
	}
	return Limits{}
}

// settings are what options change.
type settings struct {
	http      *http.Client // follows no redirects
	logger    *slog.Logger // nil: none
	product   string       // the calling program
	retries   int
	maxWait   time.Duration
	header    http.Header // of each request; never changed, only replaced
	badOption error
}

// Option changes how a [Client] works, or, given to a call, how that call does.
type Option func(*settings)

// with returns settings that options have changed.
func (s settings) with(options []Option) (settings, error) {
	for _, change := range options {
		change(&s)
	}
	return s, s.badOption
}

// WithHTTPClient sends requests with a copy of an http.Client, with its timeouts and its
// transport. Redirects are not followed, whatever its CheckRedirect is.
func WithHTTPClient(h *http.Client) Option {
	own := *h
	// A redirect could lead the key to another host, and would turn a create into a read.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(s *settings) { s.http = &own }
}

// WithRetries lets a call retry its request up to n times; 0 for never. The default
// is 8, which outlasts an outage of three quarters of a minute.
func WithRetries(n int) Option {
	return func(s *settings) { s.retries = n }
}

// WithMaxWait sets the longest time for which a call waits because the service asks it
// to: for a window to end, or a ban. If it is longer, the call returns the reason at
// once. The default is 2 minutes: a call waits for the next minute, but not for the next
// day. A context's deadline limits the time of a call in any case.
func WithMaxWait(d time.Duration) Option {
	return func(s *settings) { s.maxWait = d }
}

// WithUserAgent names the calling program in the User-Agent header, such as "acme/1.2".
func WithUserAgent(product string) Option {
	return func(s *settings) { s.product = " " + product }
}

// WithLogger logs each retry at the level Info, and each response at the level Debug.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) { s.logger = logger }
}

// WithHeader sends a header. It cannot replace Authorization and User-Agent.
func WithHeader(name, value string) Option {
	return func(s *settings) {
		control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
		if name == "" || strings.ContainsFunc(name, control) || strings.ContainsAny(name, ` "(),/:;<=>?@[\]{}`) || strings.ContainsFunc(value, control) {
			s.badOption = fmt.Errorf("petcat: the header %q cannot be sent with the value %q", name, value)
			return
		}
		if s.header = s.header.Clone(); s.header == nil {
			s.header = http.Header{}
		}
		s.header.Set(name, value)
	}
}

// WithIdempotencyKey names a create: within 24 hours, a second one with the same name and
// content returns the first one's result, and [Response].Replayed says so. Use it if you may
// repeat the create yourself, as after a restart of your program. The key has 1 to 255
// visible ASCII characters without double quotes. Without this option each call makes a
// random key, which is the same for all its requests.
func WithIdempotencyKey(key string) Option { return withContent(headerIdempotencyKey, key) }

// WithIfMatch lets an update or a delete happen only while the category has an ETag, which
// Create, Get and Update return. If it has another one, nothing is changed and the error is
// [CodePreconditionFailed]. An empty ETag is an error: it would mean no condition.
func WithIfMatch(etag string) Option { return withContent(headerIfMatch, etag) }

// The headers that decide what a response means, or whether a request may be repeated.
const (
	headerIdempotencyKey = "Idempotency-Key"
	headerIfMatch        = "If-Match"
	headerIfNoneMatch    = "If-None-Match"
)

// withContent is WithHeader for a value that must not be empty.
func withContent(name, value string) Option {
	if value == "" {
		return func(s *settings) {
			s.badOption = fmt.Errorf("petcat: the value of %s is empty, so nothing was sent", name)
		}
	}
	return WithHeader(name, value)
}

// newHTTPClient returns the client that is used when no option gives another.
func newHTTPClient() *http.Client {
	var s settings
	WithHTTPClient(&http.Client{
		Timeout: 2 * time.Minute, // a request with its response: enough for a list of 100 MB at 1 MB/s
		Transport: withPings(&http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
			TLSHandshakeTimeout:   patience,
			ResponseHeaderTimeout: 3 * patience,
			IdleConnTimeout:       45 * time.Second, // before the service closes it, after 60 s
			MaxIdleConnsPerHost:   100,              // goroutines come back to their connections
			ForceAttemptHTTP2:     true,
		}),
	})(&s)
	return s.http
}

// patience is how long each step of a connection may take.
const patience = 10 * time.Second

// userAgent returns the value of the header.
func (s *settings) userAgent() string {
	return fmt.Sprintf("petcat-go/%s (%s; %s/%s)%s", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, s.product)
}
