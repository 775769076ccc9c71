package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/doctor"
	"github.com/petcat-api/petcat/internal/server"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

// options returns options for an empty deployment with scheduled backups and a ready node.
func options(t *testing.T) doctor.Options {
	t.Helper()
	data := t.TempDir()
	dir, err := datadir.Open(data, true)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{
		Dir:         dir,
		Environment: petcat.Production,
		Clock:       clock.NewSystem(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return doctor.Options{
		Settings: config.Settings{Data: data, Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", BackupEvery: time.Hour, BackupDir: t.TempDir()},
		Clock:    clock.NewSystem(), Place: data, Database: db, Shared: store.New(db, clock.NewSystem()),
		Node: server.Readiness{Status: "ready"},
	}
}

// wantFinding checks that there is a finding with the status and the text.
func wantFinding(t *testing.T, o doctor.Options, part string, status doctor.Status, text string) {
	t.Helper()
	found := doctor.Examine(t.Context(), o)
	for _, f := range found {
		if f.Part == part && f.Status == status && strings.Contains(f.Text, text) {
			return
		}
	}
	t.Errorf("no finding %s, %s: %s; got %+v", part, status, text, found)
}

// TestNewerSchema: after a rollback, doctor says that the data belongs to a newer version.
func TestNewerSchema(t *testing.T) {
	o := options(t)
	wantFinding(t, o, "schema", doctor.OK, "up to date")
	_, err := o.Shared.(*store.Store).Exec(t.Context(), "migrate", "PRAGMA user_version = 9999")
	if err != nil {
		t.Fatal(err)
	}
	wantFinding(t, o, "schema", doctor.Warning, "a newer petcat has migrated the schema; finish the upgrade")
}

func TestNodeNotReady(t *testing.T) {
	for name, c := range map[string]struct {
		node   server.Readiness
		status doctor.Status
		text   string
	}{
		"failed": {
			server.Readiness{Status: "failed", Checks: map[string]string{"store": "nothing can be written"}},
			doctor.Problem, "the node is failed because of its store: nothing can be written",
		},
		"draining": {server.Readiness{Status: "draining"}, doctor.Warning, "the node is draining and gets no requests"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Node = c.node
			wantFinding(t, o, "node", c.status, c.text)
		})
	}
}
