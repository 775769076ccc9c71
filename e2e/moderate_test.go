package e2e

import (
	"net/http"
	"testing"
)

// TestModeration: while a server runs, commands change and delete an account's data. The server's
// lists show it within a second, and again its own writes.
func TestModeration(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		spammer, acme := newKey(t, place, "spammer", unlimited...), newKey(t, place, "acme", unlimited...)
		n := serve(t, place)
		list := func() string { return string(n.list(acme.Key).want(t, http.StatusOK).body) }
		wantList := func(want string) {
			t.Helper()
			eventually(t, "the list is "+want, func() bool { return list() == want })
		}
		for _, name := range []string{"Buy", "now", "here"} {
			n.create(spammer.Key, name).want(t, http.StatusCreated)
		}
		n.create(acme.Key, "Dogs").want(t, http.StatusCreated)
		pet := func(k key, body string) {
			t.Helper()
			n.do(http.MethodPost, "/v1/pets", body, by(k.Key)).want(t, http.StatusCreated)
		}
		pet(spammer, `{"name":"Buy","category_id":4}`)
		pet(spammer, `{"name":"now","category_id":1}`)
		pet(acme, `{"name":"Rex","category_id":3}`)
		order := `{"pet_id":3,"quantity":1}`
		n.do(http.MethodPost, "/v1/store/orders", order, by(spammer.Key)).want(t, http.StatusCreated)

		petcat(t, place, "moderate", "category", "update", "1", "--name", "Cats")
		petcat(t, place, "moderate", "category", "delete", "2", "--yes")
		petcat(t, place, "moderate", "pet", "delete", "1", "--yes")
		wantList(`[{"id":1,"name":"Cats"},{"id":3,"name":"here"},{"id":4,"name":"Dogs"}]`)

		type purge struct{ Categories, Pets, Orders int }
		got := petcatJSON[purge](t, place, "account", "purge", "spammer", "--yes")
		if want := (purge{2, 1, 1}); got != want {
			t.Errorf("the purge deleted %+v, want %+v", got, want)
		}
		wantList(`[{"id":4,"name":"Dogs"}]`)
		n.create(acme.Key, "Birds").want(t, http.StatusCreated) // the server's own write
		wantList(`[{"id":4,"name":"Dogs"},{"id":5,"name":"Birds"}]`)
		pets := string(n.do(http.MethodGet, "/v1/pets", "", by(acme.Key)).want(t, http.StatusOK).body)
		if want := `[{"id":3,"name":"Rex","category_id":3}]`; pets != want {
			t.Errorf("pets: %s, want %s", pets, want)
		}
		n.stop()
	})
}
