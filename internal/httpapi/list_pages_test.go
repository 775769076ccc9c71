package httpapi_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petcat"
)

// pageIDs returns the ids of a page, and the path of the next one, "" for none.
func pageIDs(t *testing.T, a *answer) (ids []int64, next string) {
	t.Helper()
	wantStatus(t, a, 200)
	var page []struct{ ID int64 }
	must(t, json.Unmarshal(a.body, &page))
	for _, c := range page {
		ids = append(ids, c.ID)
	}
	if link := a.Header.Get("Link"); link != "" {
		found := regexp.MustCompile(`^<(/v1/[a-z/]+\?[^>]*)>; rel="next"$`).FindStringSubmatch(link)
		if found == nil {
			t.Fatalf("Link: %s", link)
		}
		next = found[1]
	}
	return ids, next
}

func TestListPages(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000_000, 100_000_000))
	get := func(path string, changes ...request) *answer {
		return s.do("GET", path, nil, append(changes, withKey(key))...)
	}
	if ids, next := pageIDs(t, get("/v1/categories?limit=1")); len(ids) != 0 || next != "" {
		t.Errorf("of nothing: %v, %q", ids, next)
	}
	var all []int64
	for id := range int64(205) {
		wantStatus(t, s.create(fmt.Sprintf(`{"name":"%d"}`, id), withKey(key)), 201)
		all = append(all, id+1)
	}

	t.Run("200 a walk", func(t *testing.T) {
		for _, limit := range []int{50, 204, 205, 1000} {
			var walked []int64
			pages := 0
			for path := fmt.Sprintf("/v1/categories?limit=%d", limit); path != ""; pages++ {
				ids, next := pageIDs(t, get(path))
				walked, path = append(walked, ids...), next
			}
			if !slices.Equal(walked, all) || pages != (len(all)+limit-1)/limit {
				t.Errorf("%d pages of %d hold %d", pages, limit, len(walked))
			}
		}
	})
	t.Run("200 after", func(t *testing.T) {
		for query, want := range map[string][]int64{
			"after=0": all[:100], "after=200": all[200:], "after=205": nil, "after=9007199254740991": nil,
			"after=203&limit=1": {204}, "x=1&limit=2": {1, 2}, "limit=2&after=%31": {2, 3},
		} {
			if ids, _ := pageIDs(t, get("/v1/categories?"+query)); !slices.Equal(ids, want) {
				t.Errorf("%s: %v, want %v", query, ids, want)
			}
		}
	})
	t.Run("304 while the page stays, whatever comes behind it", func(t *testing.T) {
		etag := get("/v1/categories?limit=2").Header.Get("ETag")
		wantStatus(t, s.create(`{"name":"new"}`, withKey(key)), 201)
		wantStatus(t, get("/v1/categories?limit=2", withHeader("If-None-Match", etag)), 304)
		wantStatus(t, s.do("PATCH", "/v1/categories/2", strings.NewReader(`{"name":"changed"}`), withKey(key)), 200)
		wantStatus(t, get("/v1/categories?limit=2", withHeader("If-None-Match", etag)), 200)
		wantError(t, get("/v1/categories?limit=2", withHeader("If-Match", etag)), 412, petcat.CodePreconditionFailed)
	})
	t.Run("400", func(t *testing.T) {
		for _, query := range []string{"limit=0", "limit=1001", "limit=a", "limit=1&limit=2", "after=-1", "after=9007199254740992"} {
			a := get("/v1/categories?" + query)
			wantError(t, a, 400, petcat.CodeInvalidField)
			wantMessage(t, a, "the query parameter "+query[:5])
		}
	})
	t.Run("400 malformed query", func(t *testing.T) {
		for _, query := range []string{"limit=%zz", "limit=1%", "limit=2;after=1"} {
			a := get("/v1/categories?" + query)
			wantError(t, a, 400, petcat.CodeInvalidField)
			wantMessage(t, a, "the query of the URL cannot be read; percent-encode the names and values of its parameters, and separate them with &")
		}
	})
	t.Run("200 a walk while others create and delete misses nothing that stays", func(t *testing.T) {
		var walked []int64
		for path := "/v1/categories?limit=50"; path != ""; {
			ids, next := pageIDs(t, get(path))
			walked, path = append(walked, ids...), next
			wantStatus(t, s.do("DELETE", fmt.Sprintf("/v1/categories/%d", ids[0]), nil, withKey(key)), 204)
			wantStatus(t, s.create(`{"name":"new"}`, withKey(key)), 201)
		}
		if len(walked) < len(all) || !slices.Equal(walked[:len(all)], all) {
			t.Errorf("walked %v", walked)
		}
	})
	t.Run("a query is ignored where it has no meaning", func(t *testing.T) {
		wantStatus(t, get("/v1/categories/2?limit=%zz"), 200)
		wantStatus(t, get("/v1/usage?;"), 200)
	})
	t.Run("a page has no compression", func(t *testing.T) {
		wantHeader(t, get("/v1/categories?limit=2", withHeader("Accept-Encoding", "gzip")), "Content-Encoding", "")
	})
}
