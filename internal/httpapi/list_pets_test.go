package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"petcat"
)

func TestListPets(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000_000, 100_000_000))
	other, _ := s.key(s.account("other", petcat.Pro))
	get := func(query string, changes ...request) *answer {
		t.Helper()
		return s.do("GET", "/v1/pets"+query, nil, append(changes, withKey(key))...)
	}
	if a := get(""); string(a.body) != "[]" || a.StatusCode != 200 {
		t.Errorf("of nothing: %d %s", a.StatusCode, a.body)
	}
	for range 3 {
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	}
	var all, odd []int64
	for id := int64(1); id <= 205; id++ {
		category := 2 - id%2
		wantStatus(t, s.post("/v1/pets", fmt.Sprintf(`{"name":"%d","category_id":%d}`, id, category), withKey(key)), 201)
		all = append(all, id)
		if category == 1 {
			odd = append(odd, id)
		}
	}

	t.Run("200", func(t *testing.T) {
		a := get("?limit=2", withHeader("If-None-Match", "*"))
		wantStatus(t, a, 200)
		if want := `[{"id":1,"name":"1","category_id":1},{"id":2,"name":"2","category_id":2}]`; string(a.body) != want {
			t.Errorf("%s, want %s", a.body, want)
		}
		wantHeader(t, a, "Cache-Control", "no-store")
		wantHeader(t, a, "ETag", "")
		wantHeader(t, a, "X-Stability", "experimental")
		if seen := s.do("GET", "/v1/pets?limit=2", nil, withKey(other)); string(seen.body) != string(a.body) {
			t.Errorf("another account sees %s", seen.body)
		}
		head := s.do("HEAD", "/v1/pets?limit=2", nil, withKey(key))
		wantHeader(t, head, "Link", a.Header.Get("Link"))
		if len(head.body) != 0 {
			t.Errorf("HEAD: %s", head.body)
		}
	})
	t.Run("200 a walk", func(t *testing.T) {
		for query, want := range map[string][]int64{
			"": all, "?limit=1": all, "?limit=50": all, "?limit=204": all, "?limit=205": all, "?limit=1000": all,
			"?category_id=1": odd, "?category_id=1&limit=7": odd, "?limit=103&category_id=1": odd, "?category_id=3": nil, "?category_id=77": nil,
			"?category_id=1&after=200": odd[100:], "?after=203": all[203:], "?after=9007199254740991": nil, "?x=1&limit=100": all,
		} {
			var walked []int64
			limit, pages := 100, 0
			if _, text, ok := strings.Cut(query, "limit="); ok {
				_, err := fmt.Sscan(strings.Split(text, "&")[0], &limit)
				must(t, err)
			}
			for path := "/v1/pets" + query; path != ""; pages++ {
				ids, next := pageIDs(t, s.do("GET", path, nil, withKey(key)))
				walked, path = append(walked, ids...), next
			}
			if !slices.Equal(walked, want) || pages != max(1, (len(want)+limit-1)/limit) {
				t.Errorf("%s: %d in %d pages, want %d", query, len(walked), pages, len(want))
			}
		}
	})
	t.Run("200 the link keeps the category", func(t *testing.T) {
		wantHeader(t, get("?limit=2&category_id=1"), "Link", `</v1/pets?category_id=1&limit=2&after=3>; rel="next"`)
	})
	t.Run("400", func(t *testing.T) {
		for _, query := range []string{"limit=0", "limit=1001", "limit=a", "limit=1&limit=2", "after=-1", "after=x", "category_id=0", "category_id=-1", "category_id=x", "category_id=", "category_id=1&category_id=2", "category_id=9007199254740992"} {
			a := get("?" + query)
			wantError(t, a, 400, petcat.CodeInvalidField)
			name, _, _ := strings.Cut(query, "=")
			wantMessage(t, a, "the query parameter "+name+" must be")
		}
	})
}
