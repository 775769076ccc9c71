package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/historytest"
)

// What eight clients saw could have happened one after the other, in an order that
// respects who waited for whom.
func TestLinearizable(t *testing.T) {
	const histories, clients, each = 10, 8, 20
	for h := range histories {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			s := start(t)
			key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000_000, 1_000_000))
			historytest.Record(t, clients, each, 0, keyholder{s, key}).Check(t)
		})
	}
}

// keyholder implements [historytest.Subject].
type keyholder struct {
	*service

	key string
}

func (k keyholder) item(method string, id int64, body string) *answer {
	return k.do(method, fmt.Sprintf("/v1/categories/%d", id), strings.NewReader(body), withKey(k.key))
}

func (k keyholder) named(a *answer) (c historytest.Item) {
	must(k.t, json.Unmarshal(a.body, &c))
	return c
}

func (k keyholder) Create(name string) (id int64) {
	return k.named(k.create(fmt.Sprintf(`{"name":%q}`, name), withKey(k.key))).ID
}

func (k keyholder) Change(id int64, name string) (found bool) {
	return k.found(k.item("PATCH", id, fmt.Sprintf(`{"name":%q}`, name)), 200)
}

func (k keyholder) Delete(id int64) (found bool) { return k.found(k.item("DELETE", id, ""), 204) }

func (k keyholder) Get(id int64) (name string, found bool) {
	a := k.item("GET", id, "")
	if !k.found(a, 200) {
		return "", false
	}
	return k.named(a).Name, true
}

func (k keyholder) List() (all []historytest.Item) {
	must(k.t, json.Unmarshal(k.list(withKey(k.key)).body, &all))
	return all
}

// found reports whether an answer says that a category is there.
func (k keyholder) found(a *answer, status int) bool {
	if a.StatusCode != status && a.StatusCode != 404 {
		k.t.Errorf("%d %s", a.StatusCode, a.body)
	}
	return a.StatusCode == status
}
