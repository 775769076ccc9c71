package server

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUsageOfThisProcess(t *testing.T) {
	before, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if before.Memory < 1<<20 || before.PeakMem < before.Memory {
		t.Errorf("%+v", before)
	}
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; {
	}
	after, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if after.CPU <= before.CPU {
		t.Errorf("a tenth of a second of work took %v", after.CPU-before.CPU)
	}
}

func TestProcessIsStopped(t *testing.T) {
	s, err := program{name: "sleeper", dir: t.TempDir(), path: "/bin/sleep", args: []string{"600"}, ready: func() bool { return true }}.start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if s.err == nil {
		t.Error("it ended by itself")
	}
	if used, err := s.Usage(); err == nil {
		t.Errorf("it uses %+v after its end", used)
	}
	s.Stop() // twice does no harm
}

func TestFailedStartSaysWhy(t *testing.T) {
	_, err := program{name: "sad", dir: t.TempDir(), path: "/bin/sh", args: []string{"-c", "echo no luck >&2; exit 3"}}.start(t.Context(), "http://127.0.0.1:1")
	if err == nil || !strings.Contains(err.Error(), "no luck") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the error is %v", err)
	}
}

func TestAskKeepsSpelling(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-RateLimit-Limit"] = []string{"60"}
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path == "/long" {
			_, _ = w.Write([]byte(strings.Repeat("x", 5000))) // which is sent in chunks
			return
		}
		_, _ = w.Write([]byte(r.Header.Get("X-Ask")))
	}))
	defer s.Close()
	a, err := Ask(t.Context(), "GET", s.URL+"/", []string{"X-Ask: it"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != 200 || string(a.Body) != "it" || a.Get("content-length") != "2" || a.FirstByte <= 0 {
		t.Errorf("%+v", a)
	}
	if diff := cmp.Diff([]string{"X-RateLimit-Limit: 60"}, a.Additional()); diff != "" {
		t.Errorf("additional headers (-want +got):\n%s", diff)
	}
	file := filepath.Join(t.TempDir(), "header")
	if err := a.Keep(file, file+".body"); err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(header); strings.Contains(got, "Date:") || !strings.Contains(got, "Content-Length: 2\n") {
		t.Errorf("kept: %q", got)
	}
	if a, err = Ask(t.Context(), "GET", s.URL+"/long", nil, nil); err != nil || len(a.Body) != 5000 {
		t.Errorf("%d bytes in chunks, %v", len(a.Body), err)
	}
	if a, err = Glance(t.Context(), s.URL+"/", nil); err != nil || a.Body != nil {
		t.Errorf("a glance at %q, %v", a.Body, err)
	}
}

func TestReadHeadRefuses(t *testing.T) {
	for _, text := range []string{"", "SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-"} {
		var a Answer
		if err := a.readHead(bufio.NewReader(strings.NewReader(text)), time.Now()); err == nil {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
}
