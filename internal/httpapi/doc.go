// Package httpapi is the JSON API: it takes HTTP requests under /v1 through one
// chain of steps (all of it is in routes.go) and responds to them.
//
// A step or handler returns an error and never writes one: one response writer
// (respond.go) turns whatever comes back into a response, so that no response can
// lack the rate-limit headers or show an internal error. Every request has one
// [Record]; each step fills its part, and it is logged and counted once, at the end.
//
// The package knows no store: it gets what it needs as small interfaces. It uses no
// ServeMux, whose redirects and plain-text responses the contract does not have.
// When the limiter or the keyring cannot decide, the response is 503 with
// Retry-After, never 200 and never 429.
package httpapi
