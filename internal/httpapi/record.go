package httpapi

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/keyring"
	"petcat/internal/ratelimit"
)

// Record describes one request and its answer.
type Record struct {
	RequestID string
	Method    string
	Path      string // of the URL, without the query; see requestPath
	API       bool   // under /v1
	// Operation is what the request asks for, even if it was refused; "" for no operation.
	Operation  petcat.OperationID
	Deprecated bool             // whether the operation is deprecated
	Account    petcat.AccountID // 0 without a valid key
	Key        petcat.KeyID
	Admitted   bool // the request was charged
	Status     int
	Code       petcat.Code // "" unless the answer is an error
	Bytes      int64       // how many bytes of the answer's body were written
	At         time.Time
	Duration   time.Duration
	Address    string             // of the client; see clientAddress
	Decision   ratelimit.Decision // of the limiter, if it was called
}

// exchange is one request on its way through the chain. It is kept in a pool.
type exchange struct {
	Record

	server *Server
	w      http.ResponseWriter
	r      *http.Request
	path   string // below /v1
	route  *route // of the path; nil before admit, or if there is none
	item   string // the path's last segment, if that is a parameter
	start  clock.Reading
	sent   clock.Reading // when the answer began to be written; zero before

	caller    *keyring.Caller
	authError error      // why there is no caller
	address   netip.Addr // of the client; see clientAddress
	limitsSet bool       // the rate-limit headers are set
	// variesByOrigin says that the answer depends on the Origin header.
	variesByOrigin bool
	answered       bool  // the status line was sent
	bodyOver       bool  // the body was read to its end, or cannot be read
	broken         bool  // the request failed after the status line was sent
	expected       bool  // its error is not logged as a failure of the service
	retryAfter     int64 // the Retry-After of an error in seconds; 0 for none

	scratch []byte // for the body of an error; written before the exchange ends
}

func (e *exchange) header() http.Header { return e.w.Header() }

// begin takes an exchange from the pool.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) *exchange {
	e := s.exchanges.Get().(*exchange)
	e.server, e.w, e.r = s, w, r
	e.start = s.Clock.Read()
	e.Method, e.Path = r.Method, requestPath(r.URL)
	e.RequestID = s.requestID(r)
	e.setDate(e.start)
	if len(r.TransferEncoding) > 0 {
		// RFC 9112, section 6.1, requires this if the request also had a Content-Length,
		// which net/http removes.
		e.header()["Connection"] = connectionClose
	}
	return e
}

// requestPath returns a URL's path as it is matched: unescaped, unless it contains an
// escaped slash, which must not become a separator (RFC 3986, section 2.2).
func requestPath(u *url.URL) string {
	if u.RawPath != "" && (strings.Contains(u.RawPath, "%2F") || strings.Contains(u.RawPath, "%2f")) {
		return u.RawPath
	}
	return u.Path
}

// end returns an exchange to the pool. Nothing may refer to it any more. Header values,
// which net/http writes later, are never part of it.
func (s *Server) end(e *exchange) {
	*e = exchange{scratch: e.scratch[:0]}
	s.exchanges.Put(e)
}

// requestID returns the id that a trusted proxy gave the request, or a new one:
// the process's random name and a number.
func (s *Server) requestID(r *http.Request) string {
	if s.TrustedProxies != nil {
		if id := r.Header.Get("X-Request-Id"); validRequestID(id) && s.TrustedProxies.Contain(clientnet.Remote(r.RemoteAddr)) {
			return id
		}
	}
	var buf [32]byte
	id := append(buf[:0], s.instance...)
	id = append(id, '-')
	return string(strconv.AppendUint(id, s.requests.Add(1), 36))
}

// requestIDLetters are the characters that an id from a proxy may have.
const requestIDLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

func validRequestID(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id, requestIDLetters) == ""
}

// record answers with the error of the later steps, if there is one, and passes the record
// to Observe.
func (s *Server) record(next handler) handler {
	return func(e *exchange) error {
		err := next(e)
		if err != nil {
			s.respondError(e, err)
		}
		e.API = e.path != "" || e.Path == basePath
		if e.caller != nil {
			e.Account, e.Key = e.caller.Account, e.caller.Key
		}
		e.At = e.start.Time()
		end := e.sent
		if end == (clock.Reading{}) || e.Bytes > unsent {
			end = s.Clock.Read()
		}
		e.Duration = end.Since(e.start)
		e.Address = s.clientAddress(e).String()
		s.Observe(&e.Record)
		if e.broken {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
}

// unsent is the size in bytes up to which net/http buffers an answer until the handler has
// returned: writing it takes no time.
const unsent = 2 << 10

// recover turns a panic into an error, except http.ErrAbortHandler.
func (s *Server) recover(next handler) handler {
	return func(e *exchange) (err error) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if aborted, ok := cause.(error); ok && errors.Is(aborted, http.ErrAbortHandler) {
				panic(cause)
			}
			err = panicError(cause)
		}()
		return next(e)
	}
}

// clientAddress returns the address of the client; see [clientnet.Proxies.Client].
func (s *Server) clientAddress(e *exchange) netip.Addr {
	if !e.address.IsValid() {
		e.address = s.TrustedProxies.Client(e.r.RemoteAddr, e.r.Header)
	}
	return e.address
}
