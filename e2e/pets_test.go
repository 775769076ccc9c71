package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"petcat"
)

// TestPetsAndOrders: what was acknowledged is there after a kill and in a restored
// backup, for those who may see it.
func TestPetsAndOrders(t *testing.T) {
	const pets, orders = "/v1/pets", "/v1/store/orders"
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	key := newCaller(t, data)
	openAccount(t, data, "other", unlimited...)
	_, other := issueKey(t, data, "other")
	s.mustCreate(key, "Dogs")
	s.mustCreate(key, "Cats")

	newRex, newOrder := `{"name":"Rex","category_id":1}`, `{"pet_id":2,"quantity":3}`
	rex, tom := `{"id":1,"name":"Rex","category_id":1}`, `{"id":2,"name":"Tom","category_id":2}`
	order := `{"id":1,"pet_id":2,"quantity":3}`
	once := withHeader("Idempotency-Key", "once")
	// want sends a request, and compares the answer's body.
	want := func(by, method, path, body string, status int, text string, changes ...request) *answer {
		t.Helper()
		a := s.do(method, path, body, append(changes, withKey(by))...)
		if wantStatus(t, a, status); string(a.body) != text {
			t.Fatalf("%s %s: %s, want %s", method, path, a.body, text)
		}
		return a
	}
	everythingIsThere := func() {
		t.Helper()
		for _, a := range []*answer{
			want(key, http.MethodPost, pets, newRex, http.StatusCreated, rex, once),
			want(other, http.MethodPost, orders, newOrder, http.StatusCreated, order, once),
		} {
			if a.Header.Get("Idempotent-Replayed") != "true" {
				t.Error("a create was carried out a second time")
			}
		}
		want(other, http.MethodGet, pets, "", http.StatusOK, "["+rex+","+tom+"]")
		want(other, http.MethodGet, pets+"?category_id=2", "", http.StatusOK, "["+tom+"]")
		want(other, http.MethodGet, orders, "", http.StatusOK, "["+order+"]")
		want(key, http.MethodGet, orders, "", http.StatusOK, "[]")
		wantError(t, s.do(http.MethodDelete, "/v1/categories/1", "", withKey(key)), http.StatusConflict, petcat.CodeCategoryInUse)
	}

	want(key, http.MethodPost, pets, newRex, http.StatusCreated, rex, once)
	want(other, http.MethodPost, pets, `{"name":"Tom","category_id":2}`, http.StatusCreated, tom)
	want(other, http.MethodPost, orders, newOrder, http.StatusCreated, order, once)
	everythingIsThere()

	s.kill()
	s = serve(t, data)
	everythingIsThere()
	s.wantDeprecated(key)

	file := filepath.Join(t.TempDir(), "a.backup")
	petcatDoes(t, data, "backup", file)
	s.mustStop()
	restored := filepath.Join(t.TempDir(), "data")
	petcatDoes(t, restored, "restore", file)
	s = serve(t, restored)
	everythingIsThere()
	want(key, http.MethodPost, pets, `{"name":"Max","category_id":1}`, http.StatusCreated, `{"id":3,"name":"Max","category_id":1}`)
	want(key, http.MethodPost, orders, `{"pet_id":3,"quantity":1}`, http.StatusCreated, `{"id":2,"pet_id":3,"quantity":1}`)
}

// wantDeprecated looks pet 1 up, which is deprecated, and sees that it says so and is
// counted.
func (s *server) wantDeprecated(key string) {
	s.t.Helper()
	all := petcat.Operations()
	o := all[slices.IndexFunc(all, func(o petcat.Operation) bool { return o.ID == petcat.OpGetPetByID })]
	status := http.StatusOK
	if o.Sunset(time.Now()) {
		status = http.StatusGone
	}
	a := s.do(http.MethodGet, "/v1/pets/1", "", withKey(key))
	wantStatus(s.t, a, status)
	for name, want := range map[string]string{
		"Deprecation": "@1795305600", "Sunset": "Tue, 30 Nov 2027 00:00:00 GMT", "X-Stability": "experimental",
		"Link": `</docs#deprecation>; rel="deprecation"; type="text/html", </docs#deprecation>; rel="sunset"; type="text/html"`,
	} {
		if got := a.Header.Get(name); got != want {
			s.t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if n := s.metric(`petcat_deprecated_requests_total{account="acct_1",operation="getPetById"}`); n != 1 {
		s.t.Errorf("%v deprecated calls are counted", n)
	}
}
