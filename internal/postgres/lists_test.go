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

// node is what of a server keeps and lists categories.
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

// wantListed looks at the list of a node, which must be of now, also when the newest
// revision is known already.
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

// TestListsShowWhatWasAcknowledged: whatever was created or deleted on one node, a list that
// is asked for afterwards shows it on any node, however many others write meanwhile.
func TestListsShowWhatWasAcknowledged(t *testing.T) {
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
