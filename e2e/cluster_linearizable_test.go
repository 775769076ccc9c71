package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"petcat/internal/historytest"
)

// TestClusterIsLinearizable: what clients of three nodes saw could have happened one
// after the other, in an order that respects who waited for whom.
func TestClusterIsLinearizable(t *testing.T) {
	const clients, each = 9, 20
	histories := often(t, 10, 100)
	c := newCluster(t)
	c.start(3)
	key := c.newCaller()
	var nodes []historytest.Subject
	for _, s := range c.nodes {
		nodes = append(nodes, keyholder{s, key})
	}
	last := int64(0) // what the history before has created
	for h := range histories {
		historytest.Record(t, clients, each, last, nodes...).Check(t)
		last = c.nodes[h%3].mustCreate(key, "between")
	}
	t.Logf("%d histories", histories)
	c.mustStop()
}

// keyholder implements [historytest.Subject].
type keyholder struct {
	*server

	key string
}

func (k keyholder) Create(name string) (id int64) {
	a := k.create(k.key, name)
	if a.StatusCode != http.StatusCreated {
		k.t.Errorf("create: %d %s", a.StatusCode, a.body)
		return 0
	}
	return a.category(k.t).ID
}

func (k keyholder) Change(id int64, name string) (found bool) {
	return k.found(k.item(http.MethodPatch, id, categoryBody(name)), http.StatusOK)
}

func (k keyholder) Delete(id int64) (found bool) {
	return k.found(k.item(http.MethodDelete, id, ""), http.StatusNoContent)
}

func (k keyholder) Get(id int64) (name string, found bool) {
	a := k.item(http.MethodGet, id, "")
	if !k.found(a, http.StatusOK) {
		return "", false
	}
	return a.category(k.t).Name, true
}

func (k keyholder) List() (all []historytest.Item) {
	for _, c := range k.categories(k.key) {
		all = append(all, historytest.Item(c))
	}
	return all
}

func (k keyholder) item(method string, id int64, body string) *answer {
	return k.do(method, fmt.Sprintf("/v1/categories/%d", id), body, withKey(k.key))
}

// found reports whether an answer says that a category is there.
func (k keyholder) found(a *answer, status int) bool {
	if a.StatusCode != status && a.StatusCode != http.StatusNotFound {
		k.t.Errorf("%d %s", a.StatusCode, a.body)
	}
	return a.StatusCode == status
}
