package server

import (
	"strings"
	"testing"

	"github.com/petcat-api/petcat/internal/config"
)

// TestConsoleURL: the console's URL has https only if other machines can reach the console.
func TestConsoleURL(t *testing.T) {
	for name, c := range map[string]struct {
		settings config.Settings
		want     string
	}{
		"loopback": {
			config.Settings{AdminListen: "127.0.0.1:8081"},
			"http://127.0.0.1:",
		},
		"loopback, with TLS for the API": {
			config.Settings{AdminListen: "127.0.0.1:8081", TLSCert: "cert.pem"},
			"http://127.0.0.1:",
		},
		"for other machines": {
			config.Settings{AdminListen: ":8081", TLSCert: "cert.pem"},
			"https://127.0.0.1:",
		},
		"behind a proxy": {
			config.Settings{AdminListen: "127.0.0.1:8081", ConsoleURL: "https://console.example.com"},
			"https://console.example.com",
		},
		"behind a tunnel": {
			config.Settings{AdminListen: "127.0.0.1:8081", ConsoleURL: "http://localhost:9081"},
			"http://localhost:9081",
		},
	} {
		if got := testSockets(t, c.settings).consoleURL(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
