// Package httpapi is the JSON API: it takes HTTP requests under /v1 through one
// chain of steps (routes.go shows it whole) and answers them.
//
// A step or handler returns an error and never writes one: one response writer
// (respond.go) turns whatever comes back into an answer, so that no path can
// miss the limits' headers or show an internal text. Every request has one
// [Record]; each step fills its part, and it is logged and counted once, at the
// end.
//
// The package refuses to know stores: it is given what it needs as small
// interfaces. It uses no ServeMux, whose redirects and plain-text answers would
// be outside the contract. When the limiter or the keyring cannot know, the
// answer is 503 with Retry-After, never 200 and never 429.
package httpapi
