package httpapi

import (
	"net/http"
	"slices"
)

// Web pages of other origins use the API by the rules of the Fetch standard (CORS). A
// browser adds no key to a request by itself, as it does with cookies. So a web page can do
// only what its own key allows, and Access-Control-Allow-Credentials is never sent.
const (
	// corsExposed lists the response headers that scripts may read, beside those that
	// every origin may read.
	corsExposed = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, " +
		"X-Request-Id, X-Error-Field, X-Ignored-Parameters, Location, ETag, Link, Age, Date, Allow, Accept-Patch, Accept-Encoding, WWW-Authenticate, Idempotent-Replayed, Deprecation, Sunset, X-Stability"
	corsMethods = "DELETE, GET, HEAD, PATCH, POST"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match"
	corsMaxAge  = "7200" // seconds; Chromium keeps no answer longer
)

// anyOrigin allows all origins.
const anyOrigin = "*"

// crossOrigin sets the headers with which browsers let web pages of allowed origins read
// every later answer, errors included. It also answers preflights. Answers to other origins
// have none of these headers. Origins are compared byte by byte, as browsers compare them.
func (s *Server) crossOrigin(next handler) handler {
	if len(s.CORSOrigins) == 0 {
		return next
	}
	all := slices.Contains(s.CORSOrigins, anyOrigin)
	return func(e *exchange) error {
		h, origin := e.Header(), e.r.Header["Origin"]
		switch {
		case all:
			e.set("Access-Control-Allow-Origin", anyOrigin)
		case len(origin) == 1 && slices.Contains(s.CORSOrigins, origin[0]):
			h["Access-Control-Allow-Origin"] = origin
			e.set("Vary", "Origin")
		default:
			e.set("Vary", "Origin")
			return next(e)
		}
		if e.Method == http.MethodOptions && len(origin) == 1 && len(e.r.Header["Access-Control-Request-Method"]) > 0 {
			e.preflight()
			return nil
		}
		e.set("Access-Control-Expose-Headers", corsExposed)
		return next(e)
	}
}

// preflight answers a preflight. A preflight has no key, so the answer is the same for every
// path.
func (e *exchange) preflight() {
	e.setOtherLimits()
	e.set("Access-Control-Allow-Methods", corsMethods)
	e.set("Access-Control-Allow-Headers", corsHeaders)
	e.set("Access-Control-Max-Age", corsMaxAge)
	e.Header()["Cache-Control"] = noStore
	e.send(http.StatusNoContent)
}
