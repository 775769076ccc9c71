package server

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/petcat-api/petcat/internal/config"
)

// TestRejection: without TLS, only clients on the same machine can use the console, the management
// API and profiles, whatever the listener's address. The proxy of --console-url exposes only these.
// A loopback listener serves only its own names.
func TestRejection(t *testing.T) {
	const (
		here      = "127.0.0.1:1"
		elsewhere = "192.0.2.9:1"
	)
	local := config.Settings{
		AdminListen: "127.0.0.1:8081",
		ConsoleURL:  "https://console.example.com:8443",
	}
	public := config.Settings{
		AdminListen: "admin.example.com:8081",
		ConsoleURL:  "https://console.example.com:8443",
	}
	secure := public
	secure.TLSCert = "cert.pem" // for node.example.com
	listenerIsConsole := secure
	listenerIsConsole.ConsoleURL = "https://admin.example.com:8081"
	certificateIsConsole := secure
	certificateIsConsole.ConsoleURL = "https://node.example.com:8081"
	noConsoleURL := config.Settings{
		AdminListen: "127.0.0.1:8081",
	}
	private := []string{"/console/", "/console/keys", "/admin/v1/accounts", "/debug/pprof/heap"}
	open := []string{"/metrics", "/livez", "/settings", "/admin/docs", "/admin/openapi.json"}
	root := []string{"/"}

	for name, c := range map[string]struct {
		settings config.Settings
		peer     string
		host     string
		paths    []string
		want     string
	}{
		"console on this machine":                                      {local, here, "localhost:8081", private, ""},
		"console on this machine by IPv4 address":                      {local, here, "127.0.0.1:8081", private, ""},
		"console on this machine by IPv6 address":                      {local, "[::1]:1", "[::1]:8081", private, ""},
		"console on this machine by IPv6 address, on the default port": {local, "[::1]:1", "[::1]", private, ""},
		"console on this machine by a rebound name": {
			local, here, "attacker.example:8081", private, needsTLS,
		},
		"console on this machine by the name that others use": {
			public, here, "admin.example.com:8081", private, needsTLS,
		},
		"console on this machine by another address": {public, here, "192.0.2.1:8081", private, needsTLS},
		"console on this machine without a host":     {local, here, "", private, needsTLS},
		"console from another machine":               {public, elsewhere, "192.0.2.1:8081", private, needsTLS},
		"console from another machine that claims localhost": {
			public, elsewhere, "localhost:8081", private, needsTLS,
		},
		"console from another machine that claims the proxy's host": {
			public, elsewhere, "console.example.com", private, needsTLS,
		},
		"console from an unknown peer": {local, "@", "localhost:8081", private, needsTLS},
		"console through the proxy":    {local, here, "Console.example.com", private, ""},
		"console with TLS by address":  {secure, elsewhere, "192.0.2.1:8081", private, ""},
		"console with TLS by the name of the listener": {
			secure, elsewhere, "admin.example.com:8081", private, "",
		},
		"console with TLS by the name in the certificate": {
			secure, elsewhere, "node.example.com:8081", private, "",
		},
		"console with TLS by the proxy's host": {secure, elsewhere, "console.example.com", private, ""},

		"health without a host":                    {local, here, "", open, ""},
		"health on this machine":                   {local, here, "localhost:8081", open, ""},
		"health by address":                        {local, elsewhere, "192.0.2.1:8081", open, ""},
		"health on this machine by a rebound name": {local, here, "attacker.example:8081", open, needsOwnName},
		"health on this machine by a rebound name, without a proxy": {
			noConsoleURL, here, "attacker.example:8081", open, needsOwnName,
		},
		"health through the proxy": {local, here, "console.example.com", open, needsOwnName},
		"health through the proxy of a public listener": {
			public, here, "console.example.com", open, needsOwnName,
		},
		"health of a public listener by any name": {public, elsewhere, "petcat.internal:8081", open, ""},
		"health by the name of the listener, which is also the console's": {
			listenerIsConsole, elsewhere, "admin.example.com:8081", open, "",
		},
		"health by the name in the certificate, which is also the console's": {
			certificateIsConsole, elsewhere, "node.example.com:8081", open, "",
		},

		"the root through the proxy": {local, here, "console.example.com", root, ""},
		"the root by a rebound name": {local, here, "attacker.example:8081", root, needsOwnName},
	} {
		t.Run(name, func(t *testing.T) {
			g := gate{settings: c.settings, certificate: &certificate{}}
			g.certificate.current.Store(&tls.Certificate{
				Leaf: &x509.Certificate{DNSNames: []string{"node.example.com"}},
			})
			for _, path := range c.paths {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
				r.RemoteAddr = c.peer
				r.Host = c.host
				if c.settings.AdminTLS() {
					r.TLS = &tls.ConnectionState{}
				}
				if got := g.rejection(r); got != c.want {
					t.Errorf("%s: rejected with %q; want %q", path, got, c.want)
				}
			}
		})
	}
}
