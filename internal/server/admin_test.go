package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"petcat/internal/config"
)

// TestSettings: what the admin listener tells of the settings has no password in it.
func TestSettings(t *testing.T) {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.Register(flags)
	n := &Node{values: config.Values(flags, []string{"PETCAT_DATABASE=postgres://petcat:hunter2@db.internal/petcat"})}
	answer := httptest.NewRecorder()
	n.showSettings(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/settings", nil))
	if strings.Contains(answer.Body.String(), "hunter2") {
		t.Errorf("the password is shown: %s", answer.Body)
	}
	var documents []config.Document
	if err := json.Unmarshal(answer.Body.Bytes(), &documents); err != nil || len(documents) != len(config.Table()) {
		t.Fatalf("%d settings of %d (%v): %s", len(documents), len(config.Table()), err, answer.Body)
	}
	want := config.Document{
		Flag: "--database", Environment: "PETCAT_DATABASE", Value: "postgres://petcat:***@db.internal/petcat", Default: "sqlite", Origin: "environment PETCAT_DATABASE",
	}
	if documents[1] != want {
		t.Errorf("got %+v; want %+v", documents[1], want)
	}
}
