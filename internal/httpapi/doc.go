// Package httpapi is the JSON API: each HTTP request under /v1 goes through one chain of
// steps, all of which routes.go shows.
//
// A step or handler returns an error and never writes one. One function (error.go) turns
// errors into responses, so that no response lacks the rate-limit headers or shows an
// internal error. Every request has one [Record]. Each step fills its part of the record,
// which is logged and counted once, at the end.
//
// The package knows no store: it gets what it needs as small interfaces. It does not use
// http.ServeMux, because the contract has no redirects and no plain-text responses.
// When the limiter or the keyring cannot decide, the response is 503 with
// Retry-After, never 200 and never 429.
package httpapi
