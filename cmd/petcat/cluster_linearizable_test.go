package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
)

// categoriesModel is what callers may rely on: a create adds one category with
// an id that nobody had, a list shows exactly what was created.
var categoriesModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		// The state is the ids so far, ascending, as text: comparable and plain.
		before := state.(string)
		if input == "list" {
			return output == before, before
		}
		// Sorted, so that the same set is the same state however it came about.
		known := strings.Fields(before)
		at, found := slices.BinarySearchFunc(known, output.(string), byNumber)
		return !found, strings.Join(slices.Insert(known, at, output.(string)), " ")
	},
}

// byNumber compares numbers that are written without leading zeros.
func byNumber(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// TestClusterIsLinearizable: creates and lists on three nodes, as their clients
// saw them, could have happened one after the other, in an order that respects
// who waited for whom.
func TestClusterIsLinearizable(t *testing.T) {
	histories := often(t, 10, 100)
	c := newCluster(t)
	c.start(3)
	key := c.newCaller()
	last := int64(0) // what the history before has created
	for h := range histories {
		history := c.record(key, last)
		if !porcupine.CheckOperations(categoriesModel, history) {
			t.Errorf("history %d: no order explains what the clients saw", h)
		}
		if porcupine.CheckOperations(categoriesModel, withStaleList(history)) {
			t.Errorf("history %d: the check does not see a stale list", h)
		}
		last = c.nodes[h%3].mustCreate(key, "between")
	}
	t.Logf("%d histories", histories)
	c.mustStop()
}

// record lets clients list and create, each on one node after the other, and
// returns what they saw beyond an id.
func (c *cluster) record(key string, after int64) (history []porcupine.Operation) {
	c.t.Helper()
	const clients, each = 9, 20
	var mu sync.Mutex
	var ticks atomic.Int64
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := range each {
				s := c.nodes[(client+i)%len(c.nodes)]
				o := porcupine.Operation{ClientId: client, Input: "create", Call: ticks.Add(1)}
				if (client+i/2)%2 == 0 {
					o.Input, o.Output = "list", c.idsAfter(s, key, after)
				} else {
					a := s.create(key, fmt.Sprint("client", client))
					if a.StatusCode != http.StatusCreated {
						c.t.Errorf("create: %d %s", a.StatusCode, a.body)
						return
					}
					o.Output = strconv.FormatInt(a.category(c.t).ID, 10)
				}
				o.Return = ticks.Add(1)
				mu.Lock()
				history = append(history, o)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return history
}

// idsAfter returns the ids of a list beyond one, in the list's order, as text.
func (c *cluster) idsAfter(s *server, key string, after int64) string {
	var ids []string
	for _, listed := range s.categories(key) {
		if listed.ID > after {
			ids = append(ids, strconv.FormatInt(listed.ID, 10))
		}
	}
	return strings.Join(ids, " ")
}

// withStaleList makes the last list that shows anything show one less.
func withStaleList(history []porcupine.Operation) []porcupine.Operation {
	broken := slices.Clone(history)
	for i := len(broken) - 1; i >= 0; i-- {
		if shown, _ := broken[i].Output.(string); broken[i].Input == "list" && shown != "" {
			_, broken[i].Output, _ = strings.Cut(shown, " ")
			break
		}
	}
	return broken
}
