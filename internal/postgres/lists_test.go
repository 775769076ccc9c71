package postgres

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clock"
)

// node has the store and the list of a server.
type node struct {
	*Store
	*catalog.Replica
}

func openNode(t *testing.T, url string) node {
	t.Helper()
	s := openAt(t, url, Options{})
	r := catalog.NewReplica(t.Context(), catalog.New(s.Dataset()), catalog.ReplicaOptions{
		Feed: s, Clock: clock.NewSystem(), Logger: slog.New(slog.DiscardHandler), Timeout: patient().read,
	})
	t.Cleanup(func() {
		r.Close()
		closeNow(t, s)
	})
	if err := r.Load(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return node{s, r}
}

// wantListed checks whether the list of a node has a category. The list must be current, also if the
// caller knows the newest revision.
func (n node) wantListed(t *testing.T, id petcat.CategoryID, want bool) {
	t.Helper()
	var newest petcat.Revision
	var err error
	if id%2 == 0 {
		newest, err = n.Revision(t.Context())
	}
	list, age, failure := n.Current(t.Context(), newest)
	if err = errors.Join(err, failure); err != nil || age != 0 {
		t.Errorf("the list is %s old, %v", age, err)
		return
	}
	if _, _, found := list.Category(id); found != want {
		t.Errorf("category %d is listed: %t, want %t", id, found, want)
	}
}

// TestListsShowAcknowledgedChanges: a list on any node shows every create and delete that any node
// acknowledged before the request, while other nodes write.
func TestListsShowAcknowledgedChanges(t *testing.T) {
	const clients, each = 9, 12
	url := server.Database(t)
	nodes := []node{openNode(t, url), openNode(t, url), openNode(t, url)}
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := range each {
				writes, lists := nodes[(client+i)%len(nodes)], nodes[(client+i+1)%len(nodes)]
				created, err := tryCreate(t.Context(), t, writes.Store, fmt.Sprintf("%d.%d", client, i), "")
				if err != nil {
					t.Error(err)
					return
				}
				id := created.Category.ID
				lists.wantListed(t, id, true)
				if i%3 > 0 {
					continue
				}
				if err := lists.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: id, Account: 1}); err != nil {
					t.Error(err)
				}
				writes.wantListed(t, id, false)
			}
		})
	}
	all.Wait()
}
