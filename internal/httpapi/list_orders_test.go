package httpapi_test

import (
	"slices"
	"testing"

	"petcat"
)

func TestListOrders(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Enterprise, 100_000, 1_000_000)
	key, _ := s.key(account)
	second, _ := s.key(account)
	other, _ := s.key(s.account("other", petcat.Enterprise, 100_000, 1_000_000))
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	wantStatus(t, s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(key)), 201)
	const path = "/v1/store/orders"
	if a := s.do("GET", path, nil, withKey(key)); string(a.body) != "[]" || a.StatusCode != 200 {
		t.Errorf("of nothing: %d %s", a.StatusCode, a.body)
	}
	mine := map[string][]int64{}
	for id := int64(1); id <= 210; id++ {
		by := key
		if id%3 == 0 {
			by = other
		}
		wantStatus(t, s.post(path, `{"pet_id":1,"quantity":2}`, withKey(by)), 201)
		mine[by] = append(mine[by], id)
	}
	mine[second] = mine[key]

	t.Run("200", func(t *testing.T) {
		a := s.do("GET", path+"?limit=2&after=1", nil, withKey(key))
		if want := `[{"id":2,"pet_id":1,"quantity":2},{"id":4,"pet_id":1,"quantity":2}]`; string(a.body) != want {
			t.Errorf("%s, want %s", a.body, want)
		}
		wantHeader(t, a, "Link", `</v1/store/orders?limit=2&after=4>; rel="next"`)
		wantHeader(t, a, "Cache-Control", "no-store")
		wantHeader(t, a, "X-Stability", "experimental")
	})
	t.Run("200 a walk shows the account's own", func(t *testing.T) {
		for by, want := range mine {
			for _, query := range []string{"", "?limit=1", "?limit=70", "?limit=1000"} {
				var walked []int64
				for next := path + query; next != ""; {
					var ids []int64
					ids, next = pageIDs(t, s.do("GET", next, nil, withKey(by)))
					walked = append(walked, ids...)
				}
				if !slices.Equal(walked, want) {
					t.Errorf("%s: %v, want %v", query, walked, want)
				}
			}
		}
	})
}
