package postgres

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/clock"
)

// node has the store and the list of a server.
type node struct {
	*stored
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
				created, err := tryCreate(t.Context(), t, writes.stored, fmt.Sprintf("%d.%d", client, i), "")
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

// TestAccountsInOtherLocale: the search for accounts and their pages do not depend on the locale of the
// database, in which lower('Ä') may be 'ä'.
func TestAccountsInOtherLocale(t *testing.T) {
	pg := server.Server(t)
	url := pg.Database(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	pg.Execute(t, "postgres", `DROP DATABASE `+config.Database)
	pg.Execute(t, "postgres", `CREATE DATABASE `+config.Database+` TEMPLATE template0 LC_CTYPE 'C.UTF-8'`)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	free, err := petcat.ParseSubscription("free", petcat.Quota{}, petcat.Storage{})
	for _, name := range []petcat.AccountName{"Äa", "Äb", "äc"} {
		_, createErr := s.CreateAccount(t.Context(), petcat.By("cli:ada"), petcat.NewAccount{
			Name:         name,
			Subscription: free,
		})
		err = errors.Join(err, createErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	after := petcat.AccountCursor{Name: "Äa", ID: 1}
	for _, q := range []petcat.AccountQuery{{Prefix: "Ä"}, {Limit: 2}, {Limit: 1, After: after}} {
		page, err := s.AccountPage(t.Context(), q)
		if err != nil || len(page) == 0 || page[len(page)-1].Name != "Äb" {
			t.Errorf("%+v: %+v, %v; want Äb as the last one", q, page, err)
		}
	}
}
