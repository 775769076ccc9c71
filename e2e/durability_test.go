package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// book records acknowledged creates.
type book struct {
	mu  sync.Mutex
	ids map[string]int64 // by name; guarded by mu
}

func newBook() *book { return &book{ids: map[string]int64{}} }

func (b *book) acknowledge(c category) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids[c.Name] = c.ID
}

func (b *book) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.ids)
}

// copied returns a copy.
func (b *book) copied() *book {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &book{ids: maps.Clone(b.ids)}
}

// check checks that a list contains every category that was acknowledged before the request, under its
// id, and no duplicates.
func (b *book) check(t testing.TB, list func() []category) {
	t.Helper()
	want := b.copied().ids
	seen := map[string]int64{}
	for _, c := range list() {
		if seen[c.Name] != 0 {
			t.Errorf("%s exists as %d and %d", c.Name, seen[c.Name], c.ID)
		}
		seen[c.Name] = c.ID
	}
	for name, id := range want {
		if seen[name] != id {
			t.Errorf("%s was acknowledged as %d, and is %d", name, id, seen[name])
		}
	}
}

// TestKills: acknowledged creates survive kill -9. A create that is retried with its Idempotency-Key
// until it is acknowledged creates one category.
func TestKills(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) { killOften(t, place, 4) })
}

// killOften repeatedly kills a node while clients create.
func killOften(t *testing.T, place string, kills int) {
	t.Helper()
	const writers, between = 8, 60
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	front := newForwarder(t, n)
	client := newClient(t, &http.Transport{})
	known, copied := newBook(), newFollower()
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := 0; known.size() < (kills+1)*between && !t.Failed(); i++ {
				known.createOnce(t, client, front.url(), k, fmt.Sprintf("writer-%d-%d", w, i))
			}
		})
	}
	for kill := range kills {
		eventually(t, "there are more categories", func() bool { return known.size() >= (kill+1)*between })
		n.kill()
		n = serve(t, place)
		known.check(t, func() []category { return n.fresh(k.Key) })
		copied.wantList(t, n, k)
		front.behind.Store(n)
	}
	group.Wait()
	known.check(t, func() []category { return n.fresh(k.Key) })
	if copied.wantList(t, n, k); copied.restarts > 0 {
		t.Errorf("the copy began again %d times", copied.restarts)
	}
	n.stop()
}

// createOnce retries a create until it is acknowledged, with its name as the Idempotency-Key.
func (b *book) createOnce(t testing.TB, client *http.Client, url string, k key, name string) {
	t.Helper()
	eventually(t, name+" is created", func() bool {
		body, once := strings.NewReader(fmt.Sprintf(`{"name":%q}`, name)), header("Idempotency-Key", name)
		a, err := try(client, http.MethodPost, url+"/v1/categories", body, by(k.Key), once)
		if err != nil || a.StatusCode != http.StatusCreated {
			return false
		}
		var c category
		a.decode(t, &c)
		b.acknowledge(c)
		return true
	})
}

// TestDatabaseFileIsGone: if the database file was removed or replaced, creates are not acknowledged.
func TestDatabaseFileIsGone(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(file string) error{
		"moved":   func(file string) error { return os.Rename(file, file+".old") },
		"removed": os.Remove,
		"replaced": func(file string) error {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(file+".new", data, 0o600); err != nil {
				return err
			}
			return os.Rename(file+".new", file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := directory(t)
			k := newKey(t, place, "acme", unlimited...)
			n := serve(t, place)
			n.create(k.Key, "dog").want(t, http.StatusCreated)
			setOutage(t, true, n.client) // until it exits
			must(t, lose(filepath.Join(place, "petcat.db")))
			for range 20 {
				body := strings.NewReader(`{"name":"cat"}`)
				a, err := try(n.client, http.MethodPost, n.api+"/v1/categories", body, by(k.Key))
				if err == nil && a.StatusCode < http.StatusInternalServerError {
					t.Fatalf("a create got %d", a.StatusCode)
				}
			}
			if code := n.wait(); code != exitTryLater {
				t.Errorf("exit code %d: %q", code, n.sentences())
			}
		})
	}
}
