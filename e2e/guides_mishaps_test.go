package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat/docs"
)

// mishap is what happens to a request on its way.
type mishap int

const (
	loseResponse  mishap = iota // carried out, but the client does not learn of it
	refuseBriefly               // 503, for a second
	badGateway                  // 502, from somebody who does not speak JSON
	holdResponse                // carried out, and nothing comes back
)

// faultyProxy is a proxy that lets requests fail in turn, and then no more.
type faultyProxy struct {
	*httptest.Server
	held chan struct{} // a value for each response that is held

	mu      sync.Mutex
	mishaps []mishap  // guarded by mu
	noRetry time.Time // guarded by mu: no request may come before
	early   int       // guarded by mu: how many did
}

func newFaultyProxy(t *testing.T, target string) *faultyProxy {
	t.Helper()
	to, err := url.Parse(target)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	f := &faultyProxy{held: make(chan struct{}, 1)}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next, fails := f.next()
		if !fails {
			proxy.ServeHTTP(w, r)
			return
		}
		switch next {
		case refuseBriefly:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case badGateway:
			http.Error(w, "<html>bad gateway</html>", http.StatusBadGateway)
			return
		case loseResponse, holdResponse:
		}
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		if next == holdResponse {
			f.held <- struct{}{}
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(f.Close)
	return f
}

// next returns what is to happen to a request that comes now.
func (f *faultyProxy) next() (next mishap, fails bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Before(f.noRetry) {
		f.early++
	}
	if len(f.mishaps) == 0 {
		return 0, false
	}
	next, f.mishaps = f.mishaps[0], f.mishaps[1:]
	if next == refuseBriefly {
		f.noRetry = now.Add(time.Second)
	}
	return next, true
}

// inject sets what happens to the next requests.
func (f *faultyProxy) inject(mishaps ...mishap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mishaps = mishaps
}

// spent reports whether all mishaps have happened, and how many requests came earlier
// than they were told to.
func (f *faultyProxy) spent() (all bool, early int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.mishaps) == 0, f.early
}

// TestRetriesExamplesCreateOnce: each client of docs/retries.md gets its one category
// out of a service that loses responses and is unavailable for a while.
func TestRetriesExamplesCreateOnce(t *testing.T) {
	t.Parallel()
	r := newReader(t, unlimited...)
	f := newFaultyProxy(t, r.api)
	r.url = f.URL
	clients := 0
	for _, x := range examplesOf(t, "retries") {
		if x.kind != "sh" && x.kind != "console" {
			r.follow(t, x)
			continue
		}
		clients++
		before := len(r.categories(r.key))
		f.inject(loseResponse, refuseBriefly, badGateway)
		r.follow(t, x)
		if all, early := f.spent(); !all || early > 0 {
			t.Errorf("%s\nretried until it was answered: %t; earlier than Retry-After says: %d", x.text, all, early)
		}
		if created := len(r.categories(r.key)) - before; created != 1 {
			t.Errorf("%s\ncreated %d categories", x.text, created)
		}
	}
	if clients != 3 {
		t.Errorf("there are %d clients", clients)
	}
}

// TestRetriesExamplesGiveUp: no client of docs/retries.md repeats a 409 that waiting
// does not change.
func TestRetriesExamplesGiveUp(t *testing.T) {
	t.Parallel()
	awaitRoomInDay(t, time.Minute)
	r := newReader(t, unlimited...)
	for _, x := range examplesOf(t, "retries") {
		if x.kind == "python" || x.kind == "js" {
			r.follow(t, x)
		}
	}
	r.mustCreate(r.key, "Dogs")
	wantStatus(t, r.do(http.MethodPost, "/v1/pets", `{"name":"Rex","category_id":1}`, withKey(r.key)), http.StatusCreated)
	for _, run := range []string{
		`python3 -c 'from petcat_client import call; call("DELETE", "/v1/categories/1")'`,
		`node --input-type=module -e 'import { call } from "./petcat-client.mjs"; await call("DELETE", "/v1/categories/1")'`,
	} {
		before := r.list(r.key).dayLeft(t)
		r.runFails(t, run, "category_in_use")
		if sent := before - r.list(r.key).dayLeft(t) - 1; sent != 1 {
			t.Errorf("%s\nsent %d requests", run, sent)
		}
	}
}

func examplesOf(t *testing.T, guide string) []example {
	t.Helper()
	for _, g := range docs.Guides() {
		if g.Name == guide {
			return examplesIn(g.Text)
		}
	}
	t.Fatalf("there is no guide %s", guide)
	return nil
}

// TestImportExample: the program of docs/import.md creates each record once, however
// it ends in between.
func TestImportExample(t *testing.T) {
	t.Parallel()
	awaitRoomInDay(t, 3*time.Minute) // longer than the program waits
	r := newReader(t, "enterprise", "--per-minute", "1000", "--per-day", "7")
	f := newFaultyProxy(t, r.api)
	r.url = f.URL
	for _, guide := range []string{"retries", "import"} {
		for _, x := range examplesOf(t, guide) {
			if x.kind == "python" {
				r.follow(t, x)
			}
		}
	}
	must(t, os.WriteFile(filepath.Join(r.dir, "many.csv"), []byte("ref,name,description\nr1,n1,\nr2,n2,d\nr3,n3,\nr4,n4,\nr5,n5,\nr6,n6,\n"), 0o600))
	const run = "exec python3 import_categories.py many.csv"

	// It is killed while the first record is in flight.
	f.inject(holdResponse)
	killed := r.shell(run)
	must(t, killed.Start())
	<-f.held
	must(t, killed.Process.Kill())
	_ = killed.Wait() // it was killed

	r.age(t, "+ 24 * 3600")
	r.runFails(t, run, "r1 was begun more than 23 hours ago")
	r.age(t, "- 24 * 3600")

	// Of the day, 6 requests are left: for this one, and 5 more.
	f.inject(loseResponse)
	r.runFails(t, run, "r6: 429", "daily_quota_exceeded")
	if n := strings.TrimSpace(r.run(t, onMemory("SELECT count(*) FROM record"))); n != "5" {
		t.Errorf("%s records are remembered; the refused one is not to be", n)
	}
	petcatDoes(t, r.data, "account", "set-plan", "reader", "--plan", "enterprise", "--per-minute", "1000", "--per-day", "1000")
	eventually(t, 5*time.Second, "the new plan holds", func() bool { return r.list(r.key).StatusCode == http.StatusOK })
	if out := r.run(t, run); !strings.HasPrefix(out, "r6 is category ") {
		t.Errorf("what is left: %s", out)
	}
	if out := r.run(t, run); out != "" {
		t.Errorf("nothing is left, but: %s", out)
	}
	names := map[string]int{}
	for _, c := range r.categories(r.key) {
		names[c.Name]++
	}
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5", "n6"} {
		if names[name] != 1 {
			t.Errorf("%s was created %d times", name, names[name])
		}
	}
}

// onMemory returns a command that runs a statement on the program's memory.
func onMemory(statement string) string {
	return `python3 -c 'import sqlite3; d = sqlite3.connect("import.db"); print(*(d.execute("` + statement + `").fetchone() or ())); d.commit()'`
}

// age changes when the records that are in doubt were begun.
func (r *reader) age(t *testing.T, by string) {
	t.Helper()
	r.run(t, onMemory("UPDATE record SET begun = begun - (0 "+by+") WHERE id IS NULL"))
}

// runFails runs a command that has to fail and say why.
func (r *reader) runFails(t *testing.T, command string, says ...string) {
	t.Helper()
	out, err := r.shell(command).CombinedOutput()
	for _, text := range says {
		if err == nil || !strings.Contains(string(out), text) {
			t.Errorf("%s ended with %v; want %q in %s", command, err, text, out)
		}
	}
}
