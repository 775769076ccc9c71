package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/config"
)

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		name     string
		yes      bool
		terminal bool
		answer   string
		want     error
		asked    bool
	}{
		{name: "y", terminal: true, answer: "y\n", asked: true},
		{name: "empty answer", terminal: true, answer: "\n", want: errNotConfirmed, asked: true},
		{name: "end of input", terminal: true, want: errNotConfirmed, asked: true},
		{name: "--yes", yes: true, terminal: true},
		{name: "no terminal", answer: "y\n", want: errNoTerminal},
		{name: "--yes, no terminal", yes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var prompt strings.Builder
			p := &program{
				stdin:      strings.NewReader(c.answer),
				stderr:     &prompt,
				isTerminal: func(any) bool { return c.terminal },
			}
			if err := (&call{program: p}).confirm(c.yes, "Close?"); !errors.Is(err, c.want) {
				t.Errorf("confirm = %v; want %v", err, c.want)
			}
			if asked := prompt.Len() > 0; asked != c.asked {
				t.Errorf("asked: %v (%q); want %v", asked, prompt.String(), c.asked)
			}
		})
	}
}

// waiting is stdin and stdout of a command. Its calls fail the test while the store is open.
type waiting struct {
	*testing.T

	data  string
	calls int
}

func (w *waiting) Read(b []byte) (int, error)  { return copy(b, "y\n"), w.call(io.EOF) }
func (w *waiting) Write(b []byte) (int, error) { return len(b), w.call(nil) }

func (w *waiting) call(result error) error {
	w.calls++
	if _, err := os.Stat(filepath.Join(w.data, "petcat.db-shm")); err == nil {
		w.Error("the store is open")
	}
	return result
}

// TestStoreIsClosedWhileWaiting: a server can start while a command waits for an answer, for its
// input, or for the reader of its output.
func TestStoreIsClosedWhileWaiting(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "acme")
	for _, command := range []string{"backup -", "audit list --limit 0", "key find", "account close acme"} {
		w := &waiting{T: t, data: data}
		p := &program{
			stdin:      w,
			stdout:     w,
			stderr:     io.Discard,
			clock:      clock.NewSystem(),
			isTerminal: func(any) bool { return command == "account close acme" },
		}
		root := p.rootCommand()
		root.SetArgs(append(strings.Fields(command), "--data", data))
		if err := root.ExecuteContext(t.Context()); w.calls == 0 ||
			(err != nil) != (command == "key find") { // finds none
			t.Errorf("%s: %d calls, %v", command, w.calls, err)
		}
	}
}

func TestParseTime(t *testing.T) {
	p := &program{clock: clocktest.NewManual(time.Date(2026, 11, 20, 12, 0, 0, 500_000_000, time.UTC))}
	for text, want := range map[string]string{
		"90d": "2027-02-18T12:00:01Z", "1s": "2026-11-20T12:00:02Z", "2028-02-29": "2028-02-29T00:00:00Z",
		"2027-01-31T18:00:00Z": "2027-01-31T18:00:00Z", "2027-01-31T18:00:00.9+02:00": "2027-01-31T16:00:00Z",
		"": "", "never": "", "2027-02-29": "", "31.1.2027": "", "2027-01-31 18:00": "",
		"90": "", "-90d": "", "12027-01-01": "", "0001-01-01": "",
	} {
		got, err := config.ParseTime(text, p.inFuture)
		if (err == nil) != (want != "") || err == nil && timestamp(got) != want {
			t.Errorf("ParseTime(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
}
