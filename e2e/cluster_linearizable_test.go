package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"petcat/internal/historytest"
)

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
		c.record(key, last).Check(t)
		last = c.nodes[h%3].mustCreate(key, "between")
	}
	t.Logf("%d histories", histories)
	c.mustStop()
}

// record lets clients list and create, each on one node after the other, and
// returns what they saw beyond an id.
func (c *cluster) record(key string, after int64) *historytest.History {
	c.t.Helper()
	const clients, each = 9, 20
	var history historytest.History
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := range each {
				s := c.nodes[(client+i)%len(c.nodes)]
				if (client+i/2)%2 == 0 {
					history.List(client, func() string { return c.idsAfter(s, key, after) })
					continue
				}
				history.Create(client, func() string {
					a := s.create(key, fmt.Sprint("client", client))
					if a.StatusCode != http.StatusCreated {
						c.t.Errorf("create: %d %s", a.StatusCode, a.body)
						return ""
					}
					return strconv.FormatInt(a.category(c.t).ID, 10)
				})
			}
		})
	}
	all.Wait()
	return &history
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
