//go:build !go1.24

package petcat

import "net/http"

// withPings does nothing: the standard library cannot ping yet.
func withPings(t *http.Transport) *http.Transport { return t }
