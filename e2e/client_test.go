package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/client"
)

// newSDK returns a client of package client for a server, whose answers are all checked.
func newSDK(t *testing.T, s *server, key string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(s.api, key, append([]client.Option{client.WithHTTPClient(s.client)}, options...)...)
	must(t, err)
	return c
}

// TestClient uses every operation of package client that the program serves.
func TestClient(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	c := newSDK(t, s, newCaller(t, data))
	ctx := t.Context()
	var want []client.Category
	for _, name := range []string{"dog", "cat", "rabbit"} {
		created, err := c.Categories.Create(ctx, client.NewCategory{Name: name, Description: "Has four legs & a <tail>"})
		must(t, err)
		want = append(want, client.Category{ID: created.ID, Name: name, Description: "Has four legs & a <tail>"})
	}
	list, etag, err := c.Categories.ListIfChanged(ctx, "")
	must(t, err)
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if list, again, err := c.Categories.ListIfChanged(ctx, etag); list != nil || again != etag || err != nil {
		t.Errorf("the unchanged list is %v with %s; the error is %v", list, again, err)
	}
	var all []client.Category
	for category, err := range c.Categories.All(ctx) {
		must(t, err)
		all = append(all, category)
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	sizes := []int(nil)
	for page, err := range c.Categories.Pages(ctx, client.Paging{Limit: 2}) {
		must(t, err)
		sizes = append(sizes, len(page))
	}
	if diff := cmp.Diff([]int{2, 1}, sizes); diff != "" {
		t.Errorf("sizes of the pages (-want +got):\n%s", diff)
	}
	seen, err := c.Categories.Get(ctx, want[0].ID)
	must(t, err)
	change := client.CategoryChange{Name: new("hound"), Description: new(""), IfMatch: seen.ETag}
	changed, err := c.Categories.Update(ctx, seen.ID, change)
	must(t, err)
	if changed.Name != "hound" || changed.Description != "" || changed.ETag == seen.ETag {
		t.Errorf("%+v was changed to %+v", seen, changed)
	}
	_, err = c.Categories.Update(ctx, seen.ID, change)
	wantClientError(t, err, http.StatusPreconditionFailed, client.CodePreconditionFailed)
	wantClientError(t, c.Categories.DeleteIfMatch(ctx, seen.ID, seen.ETag), http.StatusPreconditionFailed, client.CodePreconditionFailed)
	must(t, c.Categories.DeleteIfMatch(ctx, seen.ID, changed.ETag))
	wantClientError(t, c.Categories.Delete(ctx, seen.ID), http.StatusNotFound, client.CodeNotFound)
	usage, err := c.Usage(ctx)
	must(t, err)
	if usage.Plan != "enterprise" || len(usage.Windows) != 2 || usage.Windows[1].Used < 10 || usage.Ban != nil {
		t.Errorf("the usage is %+v", usage)
	}
	_, err = c.Categories.Create(ctx, client.NewCategory{})
	wantClientError(t, err, http.StatusBadRequest, client.CodeInvalidField)
	_, err = newSDK(t, s, wrongKey(t)).Categories.List(ctx)
	wantClientError(t, err, http.StatusUnauthorized, client.CodeInvalidAPIKey)
	if l := c.Limits(); l.Remaining <= 0 || len(l.Windows) != 2 || l.Windows[1].Name != "day" {
		t.Errorf("the limits are %+v", l)
	}
}

func wantClientError(t *testing.T, err error, status int, code client.Code) {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != status || e.Code != code || e.RequestID == "" {
		t.Errorf("the error is %v, want %d %s", err, status, code)
	}
}

// TestClientSharesItsLimits: goroutines of one client spend a quota to its end without
// one refusal, and are told of the wait when they have no time for it.
func TestClientSharesItsLimits(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	awaitRoomInMinute(t, 20*time.Second)
	s := serve(t, data)
	openAccount(t, data, "acme", "free")
	_, key := issueKey(t, data, "acme")
	c := newSDK(t, s, key)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var mu sync.Mutex
	created, refused := 0, 0
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			_, err := c.Categories.Create(ctx, client.NewCategory{Name: fmt.Sprint("category ", i)})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				created++
				return
			}
			refused++
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != client.CodeRateLimitExceeded || !e.NotSent {
				t.Errorf("the error is %v", err)
			}
		})
	}
	group.Wait()
	if created != 60 || refused != 40 {
		t.Errorf("%d were created and %d refused, want 60 and 40", created, refused)
	}
	if _, metrics := s.ask("/metrics"); regexp.MustCompile(`petcat_requests_total\{code="429"[^}]*\} [1-9]`).MatchString(metrics) {
		t.Error("the server refused some")
	}
}

// TestTortureClient lets goroutines of one client create without end while the server is
// killed again and again: no call fails, and each category exists once.
func TestTortureClient(t *testing.T) {
	t.Parallel()
	const writers = 8
	kills := 5
	if os.Getenv(killsVariable) != "" {
		kills = killsPerAccount
	}
	data := filepath.Join(t.TempDir(), "data")
	listen := freeAddress(t)
	s := serve(t, data, "--listen", listen)
	c := newSDK(t, s, newCaller(t, data))
	known := newLedger()
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer func() { stop(); group.Wait() }()
	for i := range writers {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("%d-%d", i, n)
				known.send(name)
				// The last one of each is to end, too.
				created, err := c.Categories.Create(t.Context(), client.NewCategory{Name: name})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				known.acknowledge(category{created.ID, created.Name})
			}
		})
	}
	for kill := range kills {
		before, _ := known.acknowledged()
		more := rand.IntN(200)
		eventually(t, 30*time.Second, "categories are created again", func() bool {
			after, _ := known.acknowledged()
			return after > before+more
		})
		s.kill()
		s = serve(t, data, "--listen", listen)
		if t.Failed() {
			t.Fatalf("after %d kills", kill+1)
		}
	}
	stop()
	group.Wait()
	list, err := c.Categories.List(t.Context())
	must(t, err)
	var all []category
	for _, shown := range list {
		all = append(all, category{shown.ID, shown.Name})
	}
	known.check(all)
	acked, maybe := known.acknowledged()
	t.Logf("%d kills, %d creates acknowledged: %s", kills, acked, known.verdict())
	if v := known.verdict(); v != (verdict{}) || maybe != 0 || acked < 10*kills {
		t.Errorf("%d creates acknowledged, %d never answered: %s", acked, maybe, v)
	}
}

// TestTortureClientProgram runs the program of client/README.md as it stands there, and
// kills the server twice meanwhile. In its long form the key is Free, and it takes more
// than eight minutes.
func TestTortureClientProgram(t *testing.T) {
	t.Parallel()
	plan, patience, look := "business", time.Minute, time.Duration(0)
	if os.Getenv(killsVariable) != "" {
		plan, patience, look = "free", 12*time.Minute, 20*time.Millisecond
	}
	data := filepath.Join(t.TempDir(), "data")
	listen := freeAddress(t)
	s := serve(t, data, "--listen", listen)
	openAccount(t, data, "acme", plan)
	_, key := issueKey(t, data, "acme")
	watcher, plain := newCaller(t, data), newListClient(t)

	cmd := exec.Command(readmeProgram(t))
	cmd.Env = []string{"PETCAT_URL=" + s.api, "PETCAT_API_KEY=" + key}
	cmd.SysProcAttr = diesWithTest()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begun := time.Now()
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	servers := []*server{s}
	for _, n := range []int{150, 350} {
		next := time.Now()
		eventually(t, patience, fmt.Sprintf("%d categories are created", n), func() bool {
			if time.Now().Before(next) {
				return false
			}
			next = time.Now().Add(look)
			_, list := s.longList(plain, watcher)
			return len(list) >= n
		})
		s.kill()
		if len(ended) > 0 {
			t.Fatalf("the program ended before the server was killed: %s", out.String())
		}
		s = serve(t, data, "--listen", listen)
		servers = append(servers, s)
	}
	select {
	case err := <-ended:
		if err != nil || out.String() != "error: <nil>\n" {
			t.Fatalf("the program ended with %v: %s", err, out.String())
		}
	case <-time.After(patience):
		t.Fatalf("the program did not end; it wrote %s", out.String())
	}
	took := time.Since(begun)
	names := map[string]int{}
	_, list := s.longList(plain, watcher)
	for _, c := range list {
		names[c.Name]++
	}
	for i := range 500 {
		if name := fmt.Sprint("category ", i+1); names[name] != 1 {
			t.Errorf("%q exists %d times", name, names[name])
		}
	}
	if len(list) != 500 {
		t.Errorf("%d categories exist, want 500", len(list))
	}
	s.mustStop()
	refused := 0
	for _, s := range servers {
		refused += strings.Count(s.log.String(), `"status":429`)
	}
	if refused > 0 {
		t.Errorf("%d requests were refused: a client that is alone on its account is never", refused)
	}
	t.Logf("%s: 500 categories in %s, %d requests refused", plan, took.Round(time.Second), refused)
}

// readmeProgram compiles the program of client/README.md.
func readmeProgram(t *testing.T) (file string) {
	t.Helper()
	text, err := os.ReadFile("../client/README.md")
	must(t, err)
	code := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(text)
	if code == nil {
		t.Fatal("client/README.md has no program")
	}
	dir := t.TempDir()
	file = filepath.Join(dir, "program")
	must(t, os.WriteFile(filepath.Join(dir, "main.go"), code[1], 0o600))
	// The module is the one of this directory.
	if out, err := exec.Command("go", "build", "-o", file, filepath.Join(dir, "main.go")).CombinedOutput(); err != nil {
		t.Fatalf("compile the program of client/README.md: %v: %s", err, out)
	}
	return file
}
