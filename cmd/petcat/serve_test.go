package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/store"
)

// startingNode is a node that cannot check keys yet.
type startingNode struct{ t *testing.T }

func (startingNode) Identify(context.Context, petcat.Secret) (petcat.AccountID, error) {
	return 0, petcat.Errorf(petcat.CodeServiceUnavailable, "keys cannot be checked at the moment; retry later")
}

func (n startingNode) Store() *store.Store {
	n.t.Fatal("the store is used")
	return nil
}

// TestDevKeyIsKept: petcat dev does not create another key if it cannot check the one in its file.
func TestDevKeyIsKept(t *testing.T) {
	const written = "pck_live_written before\n"
	file := filepath.Join(t.TempDir(), devKeyFile)
	must(t, os.WriteFile(file, []byte(written), 0o600))
	cmd := new(cobra.Command)
	cmd.SetContext(t.Context())
	c := &call{cmd: cmd, settings: config.Settings{Data: filepath.Dir(file)}}
	_, _, err := c.devKey(startingNode{t})
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Errorf("got %v, want the error of the node", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != written {
		t.Errorf("the file contains %q; %v", text, err)
	}
}

// TestDevFails: petcat dev exits with an error if it cannot keep or show the key.
func TestDevFails(t *testing.T) {
	unreadable := func(file string) error { return os.Mkdir(file, 0o700) }
	unwritable := func(file string) error { return os.Symlink("absent/file", file) }
	for _, tt := range []struct {
		name    string
		prepare func(file string) error // the file of the key
		stdout  io.Writer
		want    string
	}{
		{"the file cannot be read", unreadable, io.Discard, "the key of the account dev cannot be read"},
		{"the file cannot be written", unwritable, io.Discard, "dev-key"},
		{"the key cannot be shown", func(string) error { return nil }, brokenPipe{}, errBrokenPipe.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := t.TempDir()
			mustRun(t, "init", "--data", data)
			must(t, tt.prepare(filepath.Join(data, devKeyFile)))
			var stderr strings.Builder
			args := []string{"dev", "--data", data, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second) // only a hang exceeds it
			defer stop()
			code := run(ctx, args, nil, strings.NewReader(""), tt.stdout, &stderr)
			if code != exitFailed || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("got the exit code %d, want %d and %q: %s", code, exitFailed, tt.want, stderr.String())
			}
		})
	}
}

var errBrokenPipe = errors.New("the pipe is broken")

// brokenPipe is a stdout without a reader.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBrokenPipe }

// TestHealth: the exit code is 1 unless a node says that it is ready.
func TestHealth(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		stdout io.Writer
		code   int
		want   string // in stderr
	}{
		{"ready", 200, `{"status":"ready"}`, io.Discard, exitDone, ""},
		{"degraded", 200, `{"status":"degraded","checks":{"store":"slow"}}`, io.Discard, exitDone, ""},
		{"draining", 503, `{"status":"draining"}`, io.Discard, exitFailed, "draining and must not receive requests"},
		{"another program", 200, `{}`, io.Discard, exitFailed, "is not petcat's admin listener"},
		{"another program that sends text", 200, `ok`, io.Discard, exitFailed, "is not petcat's admin listener"},
		{"nobody reads", 200, `{"status":"ready"}`, brokenPipe{}, exitFailed, errBrokenPipe.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer node.Close()
			for _, format := range [][]string{nil, {"--json"}} {
				args := append([]string{"health", "--admin-listen", node.Listener.Addr().String()}, format...)
				var stderr strings.Builder
				code := run(t.Context(), args, nil, strings.NewReader(""), tt.stdout, &stderr)
				if code != tt.code || !strings.Contains(stderr.String(), tt.want) {
					t.Errorf("%q: exit code %d, want %d and %q: %s", args, code, tt.code, tt.want, stderr.String())
				}
			}
		})
	}
}
