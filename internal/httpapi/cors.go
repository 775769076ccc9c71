package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"petcat"
)

// Web pages of other origins use the API by the rules of the Fetch standard (CORS).
// Keys are not cookies: a browser adds none by itself, so a web page can do what it has a
// key for, and no more. Credentials are therefore never allowed.

// Header values of cross-origin answers.
//
//nolint:gochecknoglobals // nobody changes them
var (
	// corsExposed is what scripts may read besides the headers that all may.
	corsExposed = []string{"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, " +
		"X-Request-Id, Location, ETag, Link, Age, Idempotent-Replayed, Deprecation, Sunset, X-Stability"}
	corsHeaders = []string{"Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match"}
	corsMaxAge  = []string{"7200"} // seconds; Chromium keeps no answer longer
	corsAny     = []string{anyOrigin}
	varyOrigin  = []string{"Origin"}
)

// anyOrigin in the place of origins allows all.
const anyOrigin = "*"

// origins are those whose web pages may use the API.
type origins struct {
	any     bool
	allowed map[string][]string // the value that allows an origin, by origin
	methods []string            // the value of Access-Control-Allow-Methods
}

// newOrigins returns nil when there are none.
func newOrigins(allowed []string, operations []petcat.Operation) *origins {
	if len(allowed) == 0 {
		return nil
	}
	o := &origins{allowed: make(map[string][]string)}
	for _, origin := range allowed {
		o.any = o.any || origin == anyOrigin
		o.allowed[origin] = []string{origin}
	}
	methods := map[string]bool{http.MethodHead: true}
	for _, operation := range operations {
		methods[operation.Method] = true
	}
	o.methods = []string{strings.Join(slices.Sorted(maps.Keys(methods)), ", ")}
	return o
}

// allows returns the value of Access-Control-Allow-Origin for a request, or nil. The
// origin is compared byte by byte, as browsers do with the answer.
func (o *origins) allows(r *http.Request) []string {
	if o.any {
		return corsAny
	}
	if sent := r.Header["Origin"]; len(sent) == 1 {
		return o.allowed[sent[0]]
	}
	return nil
}

// crossOrigin has browsers show every later answer, errors too, to web pages of allowed
// origins, and answers preflights. The answers to other origins say nothing of this.
func (s *Server) crossOrigin(next handler) handler {
	if s.origins == nil {
		return next
	}
	return func(e *exchange) error {
		e.variesByOrigin = !s.origins.any
		allowed := s.origins.allows(e.r)
		if allowed == nil {
			return next(e)
		}
		h := e.header()
		h["Access-Control-Allow-Origin"] = allowed
		if isPreflight(e.r) {
			s.preflight(e)
			return nil
		}
		h["Access-Control-Expose-Headers"] = corsExposed
		return next(e)
	}
}

// isPreflight reports whether a browser asks if it may send a request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && len(r.Header["Origin"]) == 1 && len(r.Header["Access-Control-Request-Method"]) > 0
}

// preflight answers a preflight. It carries no key, so it says the same of every path,
// looks nothing up, and is for its connection what any request without a key is.
func (s *Server) preflight(e *exchange) {
	s.noteRefused(e, false)
	s.setAddressRateLimit(e)
	h := e.header()
	h["Access-Control-Allow-Methods"] = s.origins.methods
	h["Access-Control-Allow-Headers"] = corsHeaders
	h["Access-Control-Max-Age"] = corsMaxAge
	h["Cache-Control"] = cacheNoStore
	e.send(http.StatusNoContent)
}

// varyByOrigin tells caches that the answer to another origin is another one.
func varyByOrigin(h http.Header) {
	if others := h["Vary"]; len(others) > 0 {
		h["Vary"] = []string{strings.Join(others, ", ") + ", " + varyOrigin[0]}
		return
	}
	h["Vary"] = varyOrigin
}
