package httpapi

import (
	"net/http"

	"petcat"
)

// Starting returns what answers until the data has been read: the documents, and
// 503 to everything under /v1. Of the options it takes Failures, Clock, Logger,
// Observe, Documents, TrustedProxies and CORSOrigins. Whose key a request carries cannot be
// known yet, so the limits' headers are those of the client's address.
func Starting(o Options) http.Handler {
	s := newServer(o)
	s.api = s.record(s.recover(s.crossOrigin(func(e *exchange) error {
		e.expected = true
		return petcat.Errorf(petcat.CodeServiceUnavailable, "the service is starting; retry in a moment")
	})))
	s.outside = s.record(s.recover(s.document))
	return s
}
