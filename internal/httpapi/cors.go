package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"petcat"
)

// Web pages of other origins use the API by the rules of the Fetch standard (CORS). A
// browser adds no key to a request by itself, as it does with cookies. So a web page can do
// only what its own key allows, and Access-Control-Allow-Credentials is never sent.

// Header values of cross-origin answers.
//
//nolint:gochecknoglobals // nobody changes them
var (
	// corsExposed lists the response headers that scripts may read, beside those that
	// every origin may read.
	corsExposed = []string{"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, " +
		"X-Request-Id, Location, ETag, Link, Age, Date, Allow, Accept-Patch, Accept-Encoding, WWW-Authenticate, Idempotent-Replayed, Deprecation, Sunset, X-Stability"}
	corsHeaders = []string{"Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match"}
	corsMaxAge  = []string{"7200"} // seconds; Chromium keeps no answer longer
	corsAny     = []string{anyOrigin}
	varyOrigin  = []string{"Origin"}
)

// anyOrigin allows all origins.
const anyOrigin = "*"

// origins are the origins whose web pages may use the API.
type origins struct {
	any     bool
	allowed map[string][]string // the value that allows an origin, by origin
	methods []string            // the value of Access-Control-Allow-Methods
}

// newOrigins returns nil if no origin is allowed.
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

// allows returns the value of Access-Control-Allow-Origin for a request, nil if its origin
// is not allowed. Origins are compared byte by byte, as browsers compare that header.
func (o *origins) allows(r *http.Request) []string {
	if o.any {
		return corsAny
	}
	if sent := r.Header["Origin"]; len(sent) == 1 {
		return o.allowed[sent[0]]
	}
	return nil
}

// crossOrigin sets the headers with which browsers let web pages of allowed origins read
// every later answer, errors included. It also answers preflights. Answers to other origins
// have none of these headers.
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

// isPreflight reports whether a request is a preflight.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && len(r.Header["Origin"]) == 1 && len(r.Header["Access-Control-Request-Method"]) > 0
}

// preflight answers a preflight. A preflight has no key, so the answer is the same for every
// path.
func (s *Server) preflight(e *exchange) {
	s.setAddressRateLimit(e)
	h := e.header()
	h["Access-Control-Allow-Methods"] = s.origins.methods
	h["Access-Control-Allow-Headers"] = corsHeaders
	h["Access-Control-Max-Age"] = corsMaxAge
	h["Cache-Control"] = cacheNoStore
	e.send(http.StatusNoContent)
}

// varyByOrigin tells caches that the answer depends on the origin.
func varyByOrigin(h http.Header) {
	if others := h["Vary"]; len(others) > 0 {
		h["Vary"] = []string{strings.Join(others, ", ") + ", " + varyOrigin[0]}
		return
	}
	h["Vary"] = varyOrigin
}
