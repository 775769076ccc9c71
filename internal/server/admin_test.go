package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/petcat-api/petcat/internal/config"
)

// TestSettings: /settings masks passwords.
func TestSettings(t *testing.T) {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.Register(flags)
	environ := []string{"PETCAT_DATABASE=postgres://petcat:hunter2@db.internal/petcat"}
	settings := must(config.Load(flags, environ))
	n := startTestNode(t, func(o *Options) { o.Settings.Values = settings.Values })
	answer := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/settings", nil)
	n.admin.Handler.ServeHTTP(answer, r)
	if strings.Contains(answer.Body.String(), "hunter2") {
		t.Errorf("the password is shown: %s", answer.Body)
	}
	var documents []config.Value
	if err := json.Unmarshal(answer.Body.Bytes(), &documents); err != nil || len(documents) != len(config.Table()) {
		t.Fatalf("%d settings of %d (%v): %s", len(documents), len(config.Table()), err, answer.Body)
	}
	want := config.Value{
		Flag: "--database", Environment: "PETCAT_DATABASE", Value: "postgres://petcat:***@db.internal/petcat", Default: "sqlite", Origin: "environment PETCAT_DATABASE",
	}
	if documents[1] != want {
		t.Errorf("got %+v; want %+v", documents[1], want)
	}
}

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
