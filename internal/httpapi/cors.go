package httpapi

import (
	"net/http"
	"slices"
)

// Web pages of other origins can use the API by the Fetch standard (CORS). Browsers do not add keys
// to requests, as they do with cookies, so a web page can use only its own key.
// Access-Control-Allow-Credentials is never sent.
const (
	// corsExposed lists the response headers that scripts may read, besides the safelisted
	// ones.
	corsExposed = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, " +
		"X-Request-Id, X-Error-Field, X-Ignored-Parameters, Location, ETag, Link, Age, Date, Allow, Accept-Patch, " +
		"Accept-Encoding, WWW-Authenticate, Idempotent-Replayed, Deprecation, Sunset, X-Stability"
	corsMethods = "DELETE, GET, HEAD, PATCH, POST"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match"
	corsMaxAge  = "7200" // seconds; Chromium's maximum
)

// anyOrigin allows all origins.
const anyOrigin = "*"

// crossOrigin sets the CORS headers, so that web pages of allowed origins can read every response,
// including errors. It also responds to preflights. For other origins, it does not set CORS headers.
// Origins are compared byte by byte, as in browsers.
func (s *Server) crossOrigin(next handler) handler {
	if len(s.options.CORSOrigins) == 0 {
		return next
	}
	all := slices.Contains(s.options.CORSOrigins, anyOrigin)
	return func(e *exchange) error {
		h, origin := e.Header(), e.r.Header["Origin"]
		switch {
		case all:
			e.set("Access-Control-Allow-Origin", anyOrigin)
		case len(origin) == 1 && slices.Contains(s.options.CORSOrigins, origin[0]):
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

// preflight responds to a preflight. A preflight lacks a key, so the response is the same for every path.
func (e *exchange) preflight() {
	e.setOtherLimits()
	e.set("Access-Control-Allow-Methods", corsMethods)
	e.set("Access-Control-Allow-Headers", corsHeaders)
	e.set("Access-Control-Max-Age", corsMaxAge)
	e.Header()["Cache-Control"] = noStore
	e.send(http.StatusNoContent)
}
