//go:build go1.24

package petcat

import "net/http"

// withPings finds out whether HTTP/2 connections are alive. Without it, all retries would use
// one that is dead.
func withPings(t *http.Transport) *http.Transport {
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience}
	return t
}
