package e2e

import (
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// serveFails starts a server that cannot start, and returns how it ended.
func serveFails(t *testing.T, data string, flags ...string) (code int, sentences []string) {
	t.Helper()
	s := launchProcess(t, data, serveFlags("serve", data, flags)...)
	eventually(t, 20*time.Second, "it ends", func() bool {
		if at, _, _ := s.log.ready(); !at.IsZero() {
			t.Fatal("it serves")
		}
		select {
		case <-s.ended:
			return true
		default:
			return false
		}
	})
	return s.code, s.log.sentences()
}

// goism is what only a programmer understands.
var goism = regexp.MustCompile(`goroutine|panic|runtime error|\.go:|%!|&\{|0x[0-9a-f]|context |sql:|sqlite:|tls: |x509: |asn1|goose|bind: |errno|<nil>|\n`)

// wantOneSentence checks what a program that failed said to people.
func wantOneSentence(t *testing.T, sentences []string, parts ...string) {
	t.Helper()
	if len(sentences) != 1 {
		t.Fatalf("it said %d lines: %q", len(sentences), sentences)
	}
	said := sentences[0]
	if !strings.HasPrefix(said, "petcat: ") {
		t.Errorf("it does not say who speaks: %s", said)
	}
	if found := goism.FindString(said); found != "" {
		t.Errorf("nobody but a programmer understands %q: %s", found, said)
	}
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("it does not say %q: %s", part, said)
		}
	}
	t.Log(said)
}

func TestServeThatCannotStartSaysWhy(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	good, goodKey := writeCertificate(t, t.TempDir(), "petcat")
	_, otherKey := writeCertificate(t, t.TempDir(), "petcat")
	garbage := filepath.Join(t.TempDir(), "garbage.pem")
	must(t, os.WriteFile(garbage, []byte("not a certificate\n"), 0o600))
	busy := filepath.Join(t.TempDir(), "data")
	serve(t, busy)

	for _, c := range []struct {
		name  string
		data  func(t *testing.T) string // nil: a directory that does not exist yet
		flags []string
		code  int
		parts []string
	}{
		{name: "unknown flag", flags: []string{"--port", "80"}, code: exitUsage, parts: []string{"--port", "--help"}},
		{name: "argument", flags: []string{"now"}, code: exitUsage, parts: []string{"now"}},
		{name: "bad value", flags: []string{"--bans", "maybe"}, code: exitConfig, parts: []string{"--bans", "enforce, shadow or off"}},
		{name: "API port taken", flags: []string{"--listen", taken.Addr().String()}, code: exitTryLater, parts: []string{"--listen", taken.Addr().String()}},
		{name: "admin port taken", flags: []string{"--admin-listen", taken.Addr().String()}, code: exitTryLater, parts: []string{"--admin-listen"}},
		{name: "address of another machine", flags: []string{"--listen", "192.0.2.1:0"}, code: exitConfig, parts: []string{"--listen", "192.0.2.1"}},
		{name: "data in use", data: at(busy), code: exitTryLater, parts: []string{"in use", busy, "--data"}},
		{name: "no data, and none to be made", flags: []string{"--init=false"}, code: exitConfig, parts: []string{"no data in /", "--init (PETCAT_INIT) is false", "petcat init"}},
		{name: "below a file", data: at(filepath.Join(garbage, "data")), code: exitConfig, parts: []string{"not a directory", "--data"}},
		{name: "a file", data: at(garbage), code: exitConfig, parts: []string{"not a directory", "--data"}},
		{name: "read-only disk", data: readOnlyDisk, code: exitConfig, parts: []string{"read-only", "--data"}},
		{name: "newer schema", data: changed(newerFile), code: exitConfig, parts: []string{"newer petcat"}},
		{name: "other program's data", data: changed(`PRAGMA application_id = 7`), code: exitConfig, parts: []string{"another program", "--data"}},
		{name: "not a database", data: damaged(0, 4096), code: exitConfig, parts: []string{"damaged", "backup"}},
		{name: "damaged inside", data: damaged(4096, 1<<20), code: exitConfig, parts: []string{"damaged", "backup"}},
		{name: "other environment", data: changed("SELECT 1"), flags: []string{"--environment", "staging"}, code: exitConfig, parts: []string{"production", "--environment"}},
		{name: "certificate missing", flags: []string{"--tls-cert", "/none.pem", "--tls-key", goodKey}, code: exitConfig, parts: []string{"--tls-cert", "/none.pem"}},
		{name: "certificate garbage", flags: []string{"--tls-cert", garbage, "--tls-key", goodKey}, code: exitConfig, parts: []string{"--tls-cert"}},
		{name: "key of another certificate", flags: []string{"--tls-cert", good, "--tls-key", otherKey}, code: exitConfig, parts: []string{"--tls-key"}},
		{name: "certificate without key", flags: []string{"--tls-cert", good}, code: exitConfig, parts: []string{"--tls-key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			if c.data != nil {
				data = c.data(t)
			}
			code, sentences := serveFails(t, data, c.flags...)
			if code != c.code {
				t.Errorf("it ended with %d; want %d", code, c.code)
			}
			wantOneSentence(t, sentences, c.parts...)
		})
	}
}

// changed returns a data directory whose database another program has changed.
func changed(statement string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		data := filepath.Join(t.TempDir(), "data")
		openAccount(t, data, "acme", "free")
		db, err := sql.Open("sqlite", filepath.Join(data, "petcat.db"))
		must(t, err)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), statement)
		must(t, err)
		return data
	}
}

// damaged returns a data directory whose database has been overwritten from one
// byte to another, as far as it reaches.
func damaged(from, to int64) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		data := filepath.Join(t.TempDir(), "data")
		openAccount(t, data, "acme", "free")
		f, err := os.OpenFile(filepath.Join(data, "petcat.db"), os.O_RDWR, 0)
		must(t, err)
		defer f.Close()
		info, err := f.Stat()
		must(t, err)
		_, err = f.WriteAt([]byte(strings.Repeat("\xa5", int(min(to, info.Size())-from))), from)
		must(t, err)
		return data
	}
}

// at is a data directory at a path.
func at(path string) func(*testing.T) string { return func(*testing.T) string { return path } }
