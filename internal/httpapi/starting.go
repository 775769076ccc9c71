package httpapi

import (
	"net/http"

	"petcat"
)

// Starting returns the handler for the time until the data is loaded: it serves the
// documents, and responds with 503 to every request under /v1. It cannot check keys yet, so
// the rate-limit headers are those of the client's address. It uses the options Failures,
// Peeks, Clock, Logger, Observe, Documents, TrustedProxies and CORSOrigins.
func Starting(o Options) http.Handler {
	s := newServer(o)
	s.api = s.record(s.recover(s.crossOrigin(func(e *exchange) error {
		e.expected = true
		return petcat.Errorf(petcat.CodeServiceUnavailable, "the service is starting; retry in a moment")
	})))
	s.outside = s.record(s.recover(s.crossOrigin(s.document)))
	return s
}
