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

func TestStatFields(t *testing.T) {
	// The name of a process may hold what looks like fields.
	const stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 8 0 1 2 3"
	fields, err := statFields([]byte(stat))
	if err != nil {
		t.Fatal(err)
	}
	if fields[0] != "S" || fields[1] != "1" || fields[11] != "250" || fields[12] != "50" {
		t.Errorf("%v", fields)
	}
	if _, err := statFields([]byte("nothing")); err == nil {
		t.Error("a line without fields is taken")
	}
}

func TestKilobytes(t *testing.T) {
	const status = "Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\n"
	if got := kilobytes([]byte(status), "VmHWM:"); got != 2<<20 {
		t.Errorf("%d bytes, want 2 MiB", got)
	}
	if got := kilobytes([]byte(status), "VmSwap:"); got != 0 {
		t.Errorf("%d bytes of what is not there", got)
	}
}

func TestUsageOfThisProcess(t *testing.T) {
	p := &Process{PID: os.Getpid()}
	before, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if before.Memory < 1<<20 || before.PeakMem < before.Memory {
		t.Errorf("%+v", before)
	}
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; {
	}
	after, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if after.CPU <= before.CPU {
		t.Errorf("a tenth of a second of work took %v", after.CPU-before.CPU)
	}
}

func TestProcessIsStopped(t *testing.T) {
	p, err := startProcess(t.Context(), Launch{Name: "sleeper", Dir: t.TempDir(), Path: "/bin/sleep", Args: []string{"600"}})
	if err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if _, err := os.Stat(filepath.Join("/proc", "self")); err == nil && p.err == nil {
		t.Error("it ended by itself")
	}
	p.Stop() // twice does no harm
}

func TestFailedStartSaysWhy(t *testing.T) {
	_, err := launch(t.Context(), Launch{Name: "sad", Dir: t.TempDir(), Path: "/bin/sh", Args: []string{"-c", "echo no luck >&2; exit 3"}}, "127.0.0.1:1", "/")
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
	files := FilesIn(t.TempDir())
	if err := a.Keep(files.ListHeader, files.ListBody); err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile(files.ListHeader)
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
		if a, err := readHead(bufio.NewReader(strings.NewReader(text)), time.Now()); err == nil {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
}
