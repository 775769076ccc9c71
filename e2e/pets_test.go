package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	rules "github.com/petcat-api/petcat"
)

// TestPetsAndOrders: acknowledged pets and orders survive a kill, orders are visible only to their
// account, and a deprecated operation has its headers.
func TestPetsAndOrders(t *testing.T) {
	t.Parallel()
	place := directory(t)
	k, other := newKey(t, place, "acme", unlimited...), newKey(t, place, "other", unlimited...)
	n := serve(t, place)
	n.create(k.Key, "Dogs").want(t, http.StatusCreated)
	want := func(k key, method, path, body string, status int, text string, changes ...change) *answer {
		t.Helper()
		a := n.do(method, path, body, append(changes, by(k.Key))...).want(t, status)
		if string(a.body) != text {
			t.Fatalf("%s %s: %s, want %s", method, path, a.body, text)
		}
		return a
	}
	const pets, orders, newRex, newOrder = "/v1/pets", "/v1/store/orders", `{"name":"Rex","category_id":1}`, `{"pet_id":1,"quantity":3}`
	const rex, order = `{"id":1,"name":"Rex","category_id":1}`, `{"id":1,"pet_id":1,"quantity":3}`
	once := header("Idempotency-Key", "once")
	for _, replayed := range []string{"", "true"} {
		for _, a := range []*answer{
			want(k, http.MethodPost, pets, newRex, http.StatusCreated, rex, once),
			want(other, http.MethodPost, orders, newOrder, http.StatusCreated, order, once),
		} {
			if got := a.Header.Get("Idempotent-Replayed"); got != replayed {
				t.Errorf("Idempotent-Replayed %q, want %q", got, replayed)
			}
		}
		want(other, http.MethodGet, pets, "", http.StatusOK, "["+rex+"]")
		want(other, http.MethodGet, pets+"?category_id=2", "", http.StatusOK, "[]")
		want(other, http.MethodGet, orders, "", http.StatusOK, "["+order+"]")
		want(k, http.MethodGet, orders, "", http.StatusOK, "[]")
		n.do(http.MethodDelete, "/v1/categories/1", "", by(k.Key)).wantError(t, http.StatusConflict, rules.CodeCategoryInUse)
		n.kill()
		n = serve(t, place)
	}

	all := rules.Operations()
	lookUp := all[slices.IndexFunc(all, func(o rules.Operation) bool { return o.ID == rules.OpGetPetByID })]
	status := http.StatusOK
	if lookUp.Sunset(time.Now()) {
		status = http.StatusGone
	}
	a := n.do(http.MethodGet, "/v1/pets/1", "", by(k.Key)).want(t, status)
	for _, name := range []string{"Deprecation", "Sunset", "X-Stability", "Link"} {
		if a.Header.Get(name) == "" || name == "Link" && !strings.Contains(a.Header.Get(name), `rel="deprecation"`) {
			t.Errorf("%s: %q", name, a.Header.Get(name))
		}
	}
	n.stop()
}
