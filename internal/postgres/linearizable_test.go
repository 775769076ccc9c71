package postgres

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"

	"petcat/internal/catalog"
	"petcat/internal/clock"
	"petcat/internal/historytest"
)

// node is what of a server creates and lists.
type node struct {
	*Store
	*catalog.Fresh
}

func openNode(t *testing.T, url string) node {
	t.Helper()
	s := openAt(t, url, Options{})
	f := catalog.NewFresh(t.Context(), catalog.New(s.Dataset()), catalog.FreshOptions{
		Feed: s, Clock: clock.NewSystem(), Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		f.Close()
		closeNow(t, s)
	})
	if err := f.Load(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return node{s, f}
}

func (n node) list(t *testing.T) string {
	t.Helper()
	snapshot, age, err := n.Current(t.Context())
	if err != nil || age != 0 {
		t.Errorf("list: %s old, %v", age, err)
		return ""
	}
	var list []struct{ ID json.Number }
	if err := json.Unmarshal(bytes.Join(snapshot.Representation(catalog.Identity).Parts, nil), &list); err != nil {
		t.Error(err)
	}
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID.String()
	}
	return strings.Join(ids, " ")
}

// Creates and lists on three nodes, as their clients saw them, could have happened
// one after the other on one, in an order that respects who waited for whom.
func TestLinearizable(t *testing.T) {
	const histories, clients, each = 12, 9, 16
	for h := range histories {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			url := server.Server(t).Database(t)
			nodes := []node{openNode(t, url), openNode(t, url), openNode(t, url)}
			var (
				history historytest.History
				done    sync.WaitGroup
			)
			for c := range clients {
				done.Go(func() {
					for i := range each {
						// A list goes to another node than the create before it.
						at := c + i/2
						if i%2 == 1 {
							history.List(c, func() string { return nodes[(at+1)%len(nodes)].list(t) })
							continue
						}
						history.Create(c, func() string {
							return strconv.FormatInt(int64(create(t, nodes[at%len(nodes)].Store, "x").ID), 10)
						})
					}
				})
			}
			done.Wait()
			history.Check(t)
		})
	}
}
