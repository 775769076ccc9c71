package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestCreatePet(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	other, _ := s.key(s.account("other", petcat.Pro))
	for range 2 {
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	}
	wantStatus(t, s.do("DELETE", "/v1/categories/2", nil, withKey(key)), 204)

	for body, want := range map[string]string{
		`{"id":77,"Name":5,"category_id":1,"name":" <&> \u2028 犬 ","tag":[{}]}`: `,"name":" <&> ` + "\u2028" + ` 犬 ","category_id":1}`,
		`{"name":"Rex","category_id":1.0}`:                                      `,"name":"Rex","category_id":1}`,
	} {
		a := s.post("/v1/pets", body, withKey(other)) // in another account's category
		if a.StatusCode != 201 || !strings.HasSuffix(string(a.body), want) {
			t.Errorf("%d %s, want %s", a.StatusCode, a.body, want)
		}
		wantHeader(t, a, "X-Stability", "experimental")
	}
	for body, want := range map[string]string{
		`{"category_id":1}`:                                "name is required",
		`{"name":"Rex"}`:                                   "category_id is required",
		`{"name":null,"category_id":1}`:                    "name must be a string",
		`{"name":"Rex","category_id":2}`:                   "category_id must be the id of a category, and there is no category 2",
		`{"name":"Rex","category_id":9223372036854775807}`: "there is no category 9223372036854775807",
		`{"name":"Rex","category_id":9223372036854775808}`: "category_id must be a whole number",
		`{"name":"Rex","category_id":1.5}`:                 "category_id must be a whole number",
		`{"name":"Rex","category_id":1e400}`:               "category_id must be a whole number",
		`{"name":"Rex","category_id":"1"}`:                 "category_id must be a whole number",
		`{"name":"Rex","category_id":1,"category_id":1}`:   "twice",
		`{"name":"Rex","category_id":01}`:                  "byte",
		`[]`:                                               "must be a JSON object",
	} {
		a := s.post("/v1/pets", body, withKey(key))
		wantStatus(t, a, 400)
		wantMessage(t, a, want)
	}
}

func TestCreateOrder(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	wantStatus(t, s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(key)), 201)

	a := s.post("/v1/store/orders", `{"id":5,"quantity":1e3,"pet_id":1,"note":"x"}`, withKey(key))
	if want := `{"id":1,"pet_id":1,"quantity":1000}`; a.StatusCode != 201 || string(a.body) != want {
		t.Errorf("%d %s, want %s", a.StatusCode, a.body, want)
	}
	for body, want := range map[string]string{
		`{"quantity":1}`:               "pet_id is required",
		`{"pet_id":1}`:                 "quantity is required",
		`{"pet_id":1,"quantity":1001}`: "quantity must be from 1 to 1000",
		`{"pet_id":1,"quantity":null}`: "quantity must be a whole number",
		`{"pet_id":2,"quantity":1}`:    "pet_id must be the id of a pet, and there is no pet 2",
	} {
		a := s.post("/v1/store/orders", body, withKey(key))
		wantStatus(t, a, 400)
		wantMessage(t, a, want)
	}
}

// TestDeletePet: only its account may delete a pet, and then the account may delete the category.
func TestDeletePet(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Enterprise, 100_000, 1_000_000)
	key, _ := s.key(account)
	other, _ := s.key(s.account("other", petcat.Pro))
	readOnly, _ := s.keyOn(account, petcat.KeyTerms{ReadOnly: true})
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	wantStatus(t, s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(key)), 201)
	inUse := s.do("DELETE", "/v1/categories/1", nil, withKey(key))
	wantError(t, inUse, 409, petcat.CodeCategoryInUse)
	wantMessage(t, inUse, "delete the pets first")
	wantError(t, s.do("DELETE", "/v1/pets/1", nil, withKey(other)), 403, petcat.CodeForbidden)
	wantError(t, s.do("DELETE", "/v1/pets/1", nil, withKey(readOnly)), 403, petcat.CodeForbidden)
	for _, id := range []string{"2", "x", "0"} {
		wantError(t, s.do("DELETE", "/v1/pets/"+id, nil, withKey(key)), 404, petcat.CodeNotFound)
	}
	s.advance(time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC).Sub(s.clock.Read().Time())) // after the sunset of getPetById
	a := s.do("DELETE", "/v1/pets/1", nil, withKey(key))
	wantStatus(t, a, 204)
	wantHeader(t, a, "X-Stability", "experimental")
	wantHeader(t, a, "Cache-Control", "no-store")
	wantHeader(t, a, "Sunset", "")
	wantError(t, s.do("DELETE", "/v1/pets/1", nil, withKey(key)), 404, petcat.CodeNotFound)
	if pets := s.do("GET", "/v1/pets", nil, withKey(key)); string(pets.body) != `[]` {
		t.Errorf("pets: %s", pets.body)
	}
	wantStatus(t, s.do("DELETE", "/v1/categories/1", nil, withKey(key)), 204)
}

func TestIdempotencyKeysOfPetsAndOrders(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	wantStatus(t, s.create(`{"name":"Rex"}`, withKey(key)), 201)
	wantStatus(t, s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(key)), 201)
	for path, bodies := range map[string][2]string{
		"/v1/pets":         {`{"name":"Rex","category_id":1}`, ` {"category_id":1,"x":2,"name":"R\u0065x"}`},
		"/v1/store/orders": {`{"pet_id":1,"quantity":2}`, ` {"quantity":2,"pet_id":1}`},
	} {
		t.Run(path, func(t *testing.T) {
			once := withHeader("Idempotency-Key", path)
			first, again := s.post(path, bodies[0], withKey(key), once), s.post(path, bodies[1], withKey(key), once)
			wantStatus(t, first, 201)
			wantStatus(t, again, 201)
			wantHeader(t, first, "Idempotent-Replayed", "")
			wantHeader(t, again, "Idempotent-Replayed", "true")
			if string(again.body) != string(first.body) {
				t.Errorf("replay %s, first response %s", again.body, first.body)
			}
			other := strings.NewReplacer("Rex", "Max", ":2", ":3").Replace(bodies[0])
			wantError(t, s.post(path, other, withKey(key), once), 422, petcat.CodeIdempotencyKeyReused)
			wantError(t, s.create(`{"name":"Rex"}`, withKey(key), once), 422, petcat.CodeIdempotencyKeyReused)
		})
	}
}

func TestListPetsAndOrders(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Enterprise, 100_000, 1_000_000)
	key, _ := s.key(account)
	second, _ := s.key(account)
	other, _ := s.key(s.account("other", petcat.Enterprise, 100_000, 1_000_000))
	for range 3 {
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	}
	var all, odd []int64
	orders := map[string][]int64{}
	for id := int64(1); id <= 12; id++ {
		wantStatus(t, s.post("/v1/pets", fmt.Sprintf(`{"name":"%d","category_id":%d}`, id, 2-id%2), withKey(key)), 201)
		all = append(all, id)
		by := []string{key, other}[id%2]
		orders[by] = append(orders[by], id)
		wantStatus(t, s.post("/v1/store/orders", `{"pet_id":1,"quantity":2}`, withKey(by)), 201)
		if id%2 == 1 {
			odd = append(odd, id)
		}
	}
	for _, c := range []struct {
		path, key string
		want      []int64
		pages     int
	}{
		{"/v1/pets", other, all, 1}, // all accounts see all pets
		{"/v1/pets?limit=5", key, all, 3},
		{"/v1/pets?limit=12", key, all, 1},
		{"/v1/pets?category_id=1&limit=3", key, odd, 2},
		{"/v1/pets?category_id=3", key, nil, 1},
		{"/v1/pets?after=10", key, []int64{11, 12}, 1},
		{"/v1/store/orders?limit=4", key, orders[key], 2}, // and only their own orders
		{"/v1/store/orders?limit=4", second, orders[key], 2},
		{"/v1/store/orders", other, orders[other], 1},
	} {
		var walked []int64
		pages := 0
		for path := c.path; path != ""; pages++ {
			a := s.do("GET", path, nil, withKey(c.key))
			wantHeader(t, a, "Cache-Control", "no-store")
			wantHeader(t, a, "X-Stability", "experimental")
			ids, next := pageIDs(t, a)
			walked, path = append(walked, ids...), next
		}
		if !slices.Equal(walked, c.want) || pages != c.pages {
			t.Errorf("%s: %v in %d pages, want %v in %d", c.path, walked, pages, c.want, c.pages)
		}
	}
	wantHeader(t, s.do(
		"GET", "/v1/pets?limit=2&category_id=1", nil, withKey(key)), "Link", `</v1/pets?category_id=1&limit=2&after=3>; rel="next"`)
	for _, path := range []string{
		"/v1/pets?limit=0",
		"/v1/pets?after=x",
		"/v1/pets?category_id=0",
		"/v1/pets?category_id=1&category_id=2",
		"/v1/store/orders?limit=1001",
	} {
		wantError(t, s.do("GET", path, nil, withKey(key)), 400, petcat.CodeInvalidField)
	}
}

// TestSunset: getPetById is deprecated, and has a sunset.
func TestSunset(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	created := s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(key))
	get := func(id string, status int) *response {
		t.Helper()
		a := s.do("GET", "/v1/pets/"+id, nil, withKey(key))
		wantStatus(t, a, status)
		wantHeader(t, a, "Deprecation", "@1795305600") // 2026-11-22
		wantHeader(t, a, "Sunset", "Tue, 30 Nov 2027 00:00:00 GMT")
		wantHeader(t, a, "X-Stability", "experimental")
		wantHeader(t, a,
			"Link", `</docs#deprecation>; rel="deprecation"; type="text/html", </docs#deprecation>; rel="sunset"; type="text/html"`)
		return a
	}
	if a := get("1", 200); string(a.body) != string(created.body) {
		t.Errorf("%s, created %s", a.body, created.body)
	}
	get("2", 404)
	get("x", 404)
	wantHeader(t, s.do("GET", "/v1/pets/1", nil), "Sunset", "") // without a key, the response is sent before routing
	s.mu.Lock()
	for _, r := range s.records[len(s.records)-2:] {
		if r.Deprecated != (r.Account != 0) {
			t.Errorf("record: %+v", r)
		}
	}
	s.mu.Unlock()
	s.advance(time.Date(2027, 11, 30, 0, 0, 0, 0, time.UTC).Sub(s.clock.Read().Time()) - 1)
	get("1", 200)
	s.advance(1)
	a := get("1", 410)
	wantError(t, a, 410, petcat.CodeOperationSunset)
	wantMessage(t, a, "getPetById ended on 2027-11-30; its description at /docs")
	wantStatus(t, s.do("GET", "/v1/pets?after=0&limit=1", nil, withKey(key)), 200) // its replacement
}
