package httpapi

import (
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync/atomic"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/keyring"
	"github.com/petcat-api/petcat/internal/logging"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// Record describes one request and its response.
type Record struct {
	logging.Access

	API           bool               // under /v1
	Decision      ratelimit.Decision // on the charge; zero if the limiter was not called
	RequestHeader http.Header
	Remote        string // the address of the connection
}

// exchange is one request and its response. It is pooled, which makes a list of ten categories
// about 3 percent faster.
type exchange struct {
	Record

	server *Server
	w      http.ResponseWriter
	r      *http.Request
	path   string // below /v1
	start  clock.Reading
	values []string // of headers; see set

	route    *route    // of the path; nil before limit, or if there is none
	endpoint *endpoint // the operation; nil before limit, or if there is none
	item     string    // the last path segment, if it is a parameter

	// X-RateLimit-Reset, 0 until the rate-limit headers are set, and the time of their decision by
	// the limiter's clock, in nanoseconds since the Unix epoch.
	reset, decided int64
	ownLimits      bool // they are not from the Decision

	caller     *keyring.Caller
	authError  error       // the reason why the caller is unknown
	responded  bool        // the status line was sent
	bodyTaken  int64       // bytes of BodyBytes that the body uses
	bodyOver   bool        // the body was read completely, or reading it failed
	cut        atomic.Bool // see cutOff
	broken     bool        // the request failed after the status line was sent
	retryAfter int64       // the Retry-After of an error in seconds; 0 for none
}

// An exchange is an http.ResponseWriter that records the status and the number of bytes.

func (e *exchange) Header() http.Header { return e.w.Header() }

// SetCode records the code of an error that a page or a document sends; see [web.SetCode].
func (e *exchange) SetCode(code petcat.Code) { e.Code = code }

// set sets a header. The values of one response share an array.
func (e *exchange) set(name, value string) {
	e.values = append(e.values, value)
	n := len(e.values)
	e.Header()[name] = e.values[n-1 : n : n]
}

func (e *exchange) WriteHeader(status int) {
	e.responded, e.Status = true, status
	e.w.WriteHeader(status)
}

func (e *exchange) Write(p []byte) (int, error) {
	if !e.responded {
		e.WriteHeader(http.StatusOK)
	}
	n, err := e.w.Write(p)
	e.Bytes += int64(n)
	return n, err
}

// begin returns an exchange for a request. ServeHTTP returns it to the pool.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) *exchange {
	e := s.exchanges.Get().(*exchange)
	*e = exchange{}
	e.server, e.w, e.r, e.start = s, w, r, s.options.Clock.Read()
	e.Method, e.Path, e.At, e.RequestID = r.Method, r.URL.Path, e.start.Time(), s.requestIDs.Of(r, s.isTrusted(r))
	e.RequestHeader, e.Remote = r.Header, r.RemoteAddr
	e.values = make([]string, 0, 6) // a list has no more
	e.set("X-Request-Id", e.RequestID)
	if len(r.TransferEncoding) > 0 {
		// RFC 9112, section 6.1, requires this if the request also has a Content-Length, which
		// net/http removes.
		e.set("Connection", "close")
	}
	return e
}

// isTrusted reports whether a trusted proxy forwarded a request.
func (s *Server) isTrusted(r *http.Request) bool {
	return s.options.TrustedProxies.Contain(clientnet.Remote(r.RemoteAddr))
}

// record sends the error of the later steps, if any, and passes the record to Observe.
func (s *Server) record(next handler) handler {
	return func(e *exchange) error {
		if err := next(e); err != nil {
			s.respondError(e, err)
		}
		e.Duration = s.options.Clock.Read().Since(e.start)
		e.clientAddress()
		s.options.Observe(&e.Record)
		if e.broken {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
}

// recover turns a panic into an error.
func (s *Server) recover(next handler) handler {
	return func(e *exchange) (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
			}
		}()
		return next(e)
	}
}

// clientAddress returns the address of the client; see [clientnet.Proxies.Client].
func (e *exchange) clientAddress() netip.Addr {
	if !e.Address.IsValid() {
		e.Address = e.server.options.TrustedProxies.Client(e.r.RemoteAddr, e.r.Header)
	}
	return e.Address
}
