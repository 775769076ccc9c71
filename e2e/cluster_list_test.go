package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestClusterFreshLists: what one node has created is in the next list of
// any other, every time, while others create and list too.
func TestClusterFreshLists(t *testing.T) {
	const clients = 4
	times := often(t, 1_000, 10_000)
	c := newCluster(t)
	c.start(3)
	key := c.newCaller()
	var next, stale atomic.Int64
	var all sync.WaitGroup
	for range clients {
		plain := newListClient(t)
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= times {
					return
				}
				by := c.nodes[i%3]
				created := by.create(key, fmt.Sprint("fresh", i))
				if created.StatusCode != http.StatusCreated {
					t.Errorf("create: %d %s", created.StatusCode, created.body)
					return
				}
				// Now the next node, now the one after it.
				a := c.nodes[(i+1+i/3%2)%3].rawList(plain, key)
				if a.StatusCode != http.StatusOK || a.Header.Get("Age") != "" {
					t.Errorf("list: %d, age %q, %.300s", a.StatusCode, a.Header.Get("Age"), a.body)
				}
				if !bytes.Contains(a.body, bytes.TrimSpace(created.body)) {
					stale.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := stale.Load(); n > 0 {
		t.Errorf("%d of %d lists did not show what another node had created", n, times)
	}
	t.Logf("%d creates, each in the next list of another node", times)
	// Once with the whole schema, and the same on all of them.
	want := c.nodes[0].categories(key)
	if len(want) != times {
		t.Errorf("the list shows %d of %d categories", len(want), times)
	}
	for _, s := range c.nodes[1:] {
		if !slices.Equal(s.categories(key), want) {
			t.Error("the nodes show different lists")
		}
	}
	c.mustStop()
}

// listed reports whether a list has a category.
func listed(list []category, want category) bool {
	i, found := slices.BinarySearchFunc(list, want, func(a, b category) int { return int(a.ID - b.ID) })
	return found && list[i] == want
}

// TestClusterNodeIsFreshFromTheStart: a node that has just come up shows in its
// first list what the others created, while they go on creating.
func TestClusterNodeIsFreshFromTheStart(t *testing.T) {
	starts := often(t, 5, 100)
	c := newCluster(t)
	c.start(2)
	key := c.newCaller()
	old := slices.Clone(c.nodes)
	plain := newListClient(t)
	for i := range starts {
		var latest atomic.Pointer[category] // acknowledged
		stop := stream(2, 2*time.Millisecond, func(random *rand.Rand) {
			a := old[random.IntN(2)].create(key, "busy")
			if a.StatusCode != http.StatusCreated {
				t.Errorf("create: %d %s", a.StatusCode, a.body)
				return
			}
			created := a.category(t)
			for seen := latest.Load(); seen == nil || seen.ID < created.ID; seen = latest.Load() {
				if latest.CompareAndSwap(seen, &created) {
					break
				}
			}
		})
		s := c.startOne()
		for range 3 {
			eventually(t, 5*time.Second, "somebody has created", func() bool { return latest.Load() != nil })
			known := *latest.Load()
			if a, list := s.longList(plain, key); a.StatusCode != http.StatusOK || !listed(list, known) {
				t.Errorf("start %d: %d, a list without %v", i, a.StatusCode, known)
			}
		}
		stop()
		known := category{old[0].mustCreate(key, "last"), "last"}
		if _, list := s.longList(plain, key); !listed(list, known) {
			t.Errorf("start %d: a list without %v", i, known)
		}
		s.mustStop()
		c.forget(s)
	}
	c.mustStop()
}
