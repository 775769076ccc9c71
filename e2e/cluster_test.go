package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	rules "petcat"
	"petcat/internal/pgtest"
)

// TestListsAreFresh: a list shows every create that was answered before it was asked for,
// on whatever node, also when a node dies.
func TestListsAreFresh(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 25
	place := database(t)
	k := newKey(t, place, "acme", unlimited...)
	nodes := serveAll(t, 3, place)
	work := func(nodes []*node) {
		atOnce(writers, func(w int) {
			for i := range each {
				at, other := nodes[(w+i)%len(nodes)], nodes[(w+i+1+i%2)%len(nodes)]
				var created category
				at.create(k.Key, "dog").want(t, http.StatusCreated).decode(t, &created)
				if !slices.Contains(other.fresh(k.Key), created) {
					t.Errorf("category %d is missing in the list of another node", created.ID)
				}
			}
		})
	}
	work(nodes)
	nodes[2].kill()
	work(nodes[:2])
	if count := len(nodes[0].fresh(k.Key)); count != 2*writers*each {
		t.Errorf("there are %d categories", count)
	}
}

// TestRollingRestart: nodes that are replaced one after the other, behind a proxy that asks
// /readyz, cost nobody a request.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
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
				requests.Add(1)
				a, err := try(client, http.MethodPost, address+"/v1/categories", strings.NewReader(fmt.Sprintf(`{"name":"user %d, category %d"}`, u, i)), by(k.Key))
				if err != nil || a.StatusCode != http.StatusCreated {
					t.Errorf("a create failed: %v %v", a, err)
					return
				}
				var c category
				a.decode(t, &c)
				known.acknowledge(c)
			}
		})
	}
	for _, old := range nodes {
		before := requests.Load()
		next := serve(t, place)
		balancer.replace(old, next)
		old.stop()
		eventually(t, "more requests are sent", func() bool { return requests.Load() > before+20 })
	}
	close(stop)
	users.Wait()
	known.check(t, func() []category {
		var all []category
		a, err := try(client, http.MethodGet, address+"/v1/categories", nil, by(k.Key))
		must(t, err)
		a.want(t, http.StatusOK).decode(t, &all)
		return all
	})
}

// TestDatabaseAway: while PostgreSQL is away, killed or hung, lists of callers whom a node
// knows go on, creates are refused, and nothing acknowledged is lost; afterwards all heals by
// itself.
func TestDatabaseAway(t *testing.T) {
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
		eventually(t, "a create is acknowledged", func() bool { return create(fmt.Sprint("before ", i)) })
		for _, n := range []*node{n, strict} {
			known.check(t, func() []category { return n.fresh(k.Key) })
		}
		outage.begin()
		for range 3 {
			known.check(t, func() []category { return n.categories(k.Key) })
		}
		if create(fmt.Sprint("during ", i)) {
			t.Error("a create was acknowledged without a database")
		}
		strict.list(k.Key).wantError(t, http.StatusServiceUnavailable, rules.CodeServiceUnavailable)
		outage.end()
		for _, n := range []*node{n, strict} {
			eventually(t, "the node is ready again", n.ready)
			known.check(t, func() []category { return n.fresh(k.Key) })
		}
	}
	eventually(t, "creates are acknowledged again", func() bool { return create("after") })
	n.stop()
	strict.stop()
}
