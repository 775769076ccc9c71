package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	rules "github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
)

// TestListsAreFresh: a list on any node contains every create that was acknowledged before the request,
// also if a node dies.
func TestListsAreFresh(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 25
	place := database(t)
	k := newKey(t, place, "acme", unlimited...)
	nodes := serveAll(t, 3, place)
	known := newBook()
	work := func(nodes []*node) {
		atOnce(writers, func(w int) {
			for i := range each {
				at, other := nodes[(w+i)%len(nodes)], nodes[(w+i+1+i%2)%len(nodes)]
				known.createOnce(t, at.client, at.api, k, fmt.Sprintf("%d-%d-%d", len(nodes), w, i))
				known.check(t, func() []category { return other.fresh(k.Key) })
			}
		})
	}
	work(nodes)
	nodes[2].kill()
	work(nodes[:2])
	if count := len(nodes[0].fresh(k.Key)); count != 2*writers*each {
		t.Errorf("%d categories", count)
	}
}

// nextVersion builds a possible next version of the program: with one more migration, which only adds.
func nextVersion(t *testing.T) (file string) {
	t.Helper()
	dir := t.TempDir()
	migration, overlay := filepath.Join(dir, "next.sql"), filepath.Join(dir, "overlay.json")
	file = filepath.Join(dir, "petcat")
	must(t, os.WriteFile(migration, []byte(
		"ALTER TABLE categories ADD COLUMN more text; CREATE TABLE next (id bigint PRIMARY KEY);\n"), 0o600))
	place, err := filepath.Abs("../internal/schema/9999_next.sql")
	must(t, err)
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {place: migration}})
	must(t, err)
	must(t, os.WriteFile(overlay, replaced, 0o600))
	build := exec.Command("go", "build", "-buildvcs=false", "-overlay", overlay, "-o", file, "../cmd/petcat")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("build the next version: %v: %s", err, out)
	}
	return file
}

// TestRollingUpgrade: no request fails while nodes behind a proxy that polls /readyz are replaced by the
// next version, one by one. Both versions serve the same data, and the old version starts on the
// newer schema.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	next := nextVersion(t)
	place := database(t)
	k := newKey(t, place, "acme", unlimited...)
	nodes := serveAll(t, 3, place)
	balancer, address := newBalancer(t, slices.Clone(nodes)...)
	client := newClient(t, &http.Transport{})
	known := newBook()
	var requests atomic.Int64
	var users sync.WaitGroup
	stop := make(chan struct{})
	for u := range 4 {
		users.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("user-%d-%d", u, i)
				body, once := fmt.Sprintf(`{"name":%q}`, name), header("Idempotency-Key", name)
				a, err := send(client, http.MethodPost, address+"/v1/categories", body, by(k.Key), once)
				if err != nil {
					t.Errorf("a create failed: %v", err)
					return
				}
				a.want(t, http.StatusCreated)
				var c category
				a.decode(t, &c)
				known.acknowledge(c)
				page := fmt.Sprintf("%s/v1/categories?limit=1&after=%d", address, c.ID-1)
				a, err = send(client, http.MethodGet, page, "", by(k.Key))
				if err != nil {
					t.Errorf("a list failed: %v", err)
					return
				}
				if a.want(t, http.StatusOK); a.Header.Get("Age") == "" && !strings.Contains(string(a.body), c.Name) {
					t.Errorf("a list lacks %q: %s", c.Name, a.body)
				}
				requests.Add(2)
			}
		})
	}
	for i, file := range []string{next, program, next, next} { // the first upgrade is reverted
		cmd := command(serveArguments("serve", place, nil)...)
		cmd.Path = file
		started := launchCommand(t, place, cmd)
		started.awaitReady()
		old := nodes[0]
		if i == 1 {
			old = nodes[len(nodes)-1]
		}
		nodes = append(slices.DeleteFunc(nodes, func(n *node) bool { return n == old }), started)
		balancer.replace(old, started)
		old.stop()
		sharedPostgres.Server(t).Execute(t, place, "SELECT more FROM categories, next") // the schema is the newer one
		before := requests.Load()
		eventually(t, "more requests are sent", func() bool { return requests.Load() > before+60 })
		for _, n := range nodes {
			known.check(t, func() []category { return n.fresh(k.Key) })
		}
	}
	close(stop)
	users.Wait()
}

// TestDatabaseOutage: while PostgreSQL is killed or hangs, known clients get lists, creates are
// rejected, and no acknowledged create is lost. Then the nodes recover automatically.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	t.Cleanup(server.Resume)
	place := server.Database(t)
	k := newKey(t, place, "acme", unlimited...)
	n, strict := serve(t, place), serve(t, place, "--max-staleness", "0")
	known := newBook()
	create := func(name string) bool {
		a := n.create(k.Key, name)
		switch a.StatusCode {
		case http.StatusCreated:
			var c category
			a.decode(t, &c)
			known.acknowledge(c)
			return true
		default:
			a.wantError(t, http.StatusServiceUnavailable, rules.CodeServiceUnavailable)
			return false
		}
	}
	for i, outage := range []struct{ begin, end func() }{
		{server.Kill, func() { must(t, server.Start(t.Context())) }},
		{server.Suspend, server.Resume},
	} {
		if !create(fmt.Sprint("before ", i)) {
			t.Error("a create was rejected without an outage")
		}
		for _, n := range []*node{n, strict} {
			known.check(t, func() []category { return n.fresh(k.Key) })
		}
		setOutage(t, true, n.client, strict.client)
		outage.begin()
		for range 3 {
			known.check(t, func() []category { return n.categories(k.Key) })
		}
		if create(fmt.Sprint("during ", i)) {
			t.Error("a create was acknowledged without a database")
		}
		strict.list(k.Key).wantError(t, http.StatusServiceUnavailable, rules.CodeServiceUnavailable)
		outage.end()
		eventually(t, "creates are acknowledged again", func() bool { return create(fmt.Sprint("after ", i)) })
		for _, n := range []*node{n, strict} {
			eventually(t, "the node is ready again", n.ready)
			// After a create, a list needs the node's connections for reads.
			known.check(t, func() []category { return n.fresh(k.Key) })
		}
		setOutage(t, false, n.client, strict.client)
	}
	n.stop()
	strict.stop()
}
