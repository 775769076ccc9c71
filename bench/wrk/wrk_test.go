package wrk

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const output = `Running 1s test @ http://127.0.0.1:8080/v1/categories
  2 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     0.95ms    1.20ms  25.30ms   90.00%
Requests/sec:  81234.00
result {"requests":81234,"micros":1000500,"bytes":99000000,"errors":{"connect":0,"read":0,"write":0,"status":3,"timeout":1},"p50":640,"p90":1500,"p99":8000,"p999":12000,"max":25300}
`

func TestParse(t *testing.T) {
	got, err := Parse(output)
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		Requests: 81234, Duration: 1000500 * time.Microsecond, Bytes: 99000000,
		Errors: Errors{Status: 3, Timeout: 1},
		P50:    640 * time.Microsecond, P90: 1500 * time.Microsecond, P99: 8 * time.Millisecond,
		P999: 12 * time.Millisecond, Max: 25300 * time.Microsecond,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]string{
		"no result":  "Running 1s test\n",
		"no JSON":    "result {\n",
		"no answers": strings.NewReplacer(`"requests":81234`, `"requests":0`, `"bytes":99000000`, `"bytes":0`).Replace(output),
		"no time":    strings.Replace(output, `"micros":1000500`, `"micros":0`, 1),
	}
	for name, text := range cases {
		if got, err := Parse(text); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func TestRate(t *testing.T) {
	r := Result{Requests: 10, Bytes: 20 << 20, Duration: 2 * time.Second}
	if got := r.Rate(1000); got != 5 {
		t.Errorf("of small answers: %v a second, want 5", got)
	}
	// Two of one mebibyte were sent for each that was finished.
	if got := r.Rate(1 << 20); got != 10 {
		t.Errorf("of large answers: %v a second, want 10", got)
	}
}

func TestPump(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Length", "5000")
		_, _ = w.Write([]byte(strings.Repeat("x", 5000)))
	}))
	defer server.Close()
	load := Load{Connections: 3, Duration: 50 * time.Millisecond}
	for _, method := range []string{"GET", "HEAD"} {
		r := Request{Method: method, URL: server.URL, Header: []string{"Authorization: Bearer x"}}
		got, err := Pump(t.Context(), r, load)
		if err != nil {
			t.Fatal(err)
		}
		if got.Requests < 3 || got.Errors.Status != 0 || got.P50 <= 0 || got.Max < got.P99 {
			t.Errorf("%s: %+v", method, got)
		}
		if long := got.Bytes/got.Requests > 5000; long != (method == "GET") {
			t.Errorf("%s: %d bytes for an answer", method, got.Bytes/got.Requests)
		}
	}
	got, err := Pump(t.Context(), Request{Method: "GET", URL: server.URL}, load)
	if err != nil {
		t.Fatal(err)
	}
	if got.Errors.Status != got.Requests {
		t.Errorf("%d of %d answers are noticed to be errors", got.Errors.Status, got.Requests)
	}
}

// The servers behind several nodes remember what they were sent, so each request
// needs something of its own, also in the next run.
func TestUnique(t *testing.T) {
	program, err := exec.LookPath("wrk")
	if err != nil && os.Getenv("PETCAT_TEST_REQUIRE") != "" {
		t.Fatal("wrk is not installed; on Debian: apt-get install wrk")
	}
	if err != nil {
		t.Skip("wrk is not installed")
	}
	var mu sync.Mutex
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Header.Get("Idempotency-Key")]++
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	r := Request{Method: "POST", URL: server.URL, Header: []string{"Idempotency-Key: " + Unique}}
	var sent int64
	for range 2 {
		got, err := Run(t.Context(), r, Load{Program: program, Connections: 4, Duration: time.Second, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		sent += got.Requests
	}
	mu.Lock()
	defer mu.Unlock()
	if sent < 10 || int64(len(seen)) < sent {
		t.Errorf("%d requests had %d keys", sent, len(seen))
	}
	for key, times := range seen {
		if times > 1 || key == "" || strings.ContainsAny(key, "{}") {
			t.Fatalf("%q was sent %d times", key, times)
		}
	}
}
