package postgres

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clock"
	"petcat/internal/historytest"
)

// node is what of a server keeps and lists categories.
type node struct {
	*Store
	*catalog.Replica
}

func openNode(t *testing.T, url string) node {
	t.Helper()
	s := openAt(t, url, Options{})
	f := catalog.NewReplica(t.Context(), catalog.New(s.Dataset()), catalog.ReplicaOptions{
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

// client implements [historytest.Subject].
type client struct {
	node

	t *testing.T
}

func (c client) Create(name string) (id int64) { return int64(create(c.t, c.Store, name).ID) }

func (c client) Change(id int64, name string) (found bool) {
	patch, err := petcat.ParseCategoryPatch(&name, nil, false)
	if err == nil {
		_, err = c.UpdateCategory(c.t.Context(), petcat.UpdateCategory{ID: petcat.CategoryID(id), Account: 1, Patch: patch})
	}
	return c.found(err)
}

func (c client) Delete(id int64) (found bool) {
	return c.found(c.DeleteCategory(c.t.Context(), petcat.DeleteCategory{ID: petcat.CategoryID(id), Account: 1}))
}

func (c client) found(err error) bool {
	if code := petcat.CodeOf(err); err != nil && code != petcat.CodeNotFound {
		c.t.Error(err)
	}
	return err == nil
}

func (c client) Get(id int64) (name string, found bool) {
	object, _, found := c.current().Category(petcat.CategoryID(id))
	if !found {
		return "", false
	}
	var i historytest.Item
	if err := json.Unmarshal(object, &i); err != nil {
		c.t.Error(err)
	}
	return i.Name, true
}

func (c client) List() (all []historytest.Item) {
	if err := json.Unmarshal(bytes.Join(c.current().Representation(catalog.Identity).Parts, nil), &all); err != nil {
		c.t.Error(err)
	}
	return all
}

func (c client) current() *catalog.Snapshot {
	snapshot, age, err := c.Current(c.t.Context(), 0)
	if err != nil || age != 0 {
		c.t.Errorf("list: %s old, %v", age, err)
		snapshot, _, _ = catalog.New("").Current(c.t.Context(), 0)
	}
	return snapshot
}

// What clients of three nodes saw could have happened one after the other on one, in an
// order that respects who waited for whom.
func TestLinearizable(t *testing.T) {
	const histories, clients, each = 3, 9, 16
	for h := range histories {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			url := server.Database(t)
			var nodes []historytest.Subject
			for range 3 {
				nodes = append(nodes, client{openNode(t, url), t})
			}
			historytest.Record(t, clients, each, 0, nodes...).Check(t)
		})
	}
}
