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
	get := func(query string, changes ...request) *answer {
		return s.do("GET", "/v1/categories?"+query, nil, append(changes, withKey(key))...)
	}
	if ids, next := pageIDs(t, get("limit=1")); len(ids) != 0 || next != "" {
		t.Errorf("of nothing: %v, %q", ids, next)
	}
	var all []int64
	for id := range int64(205) {
		wantStatus(t, s.create(fmt.Sprintf(`{"name":"%d"}`, id), withKey(key)), 201)
		all = append(all, id+1)
	}
	for query, want := range map[string][]int64{
		"limit=205": all, "limit=204": all[:204], "after=0": all[:100], "after=200": all[200:], "after=205": nil, "after=9007199254740991": nil, "x=1&limit=2&after=%31": {2, 3},
	} {
		ids, next := pageIDs(t, get(query))
		if more := len(ids) > 0 && ids[len(ids)-1] < 205; !slices.Equal(ids, want) || (next != "") != more {
			t.Errorf("%s: %v and a next page %q, want %v", query, ids, next, want)
		}
	}
	for query, message := range map[string]string{
		"limit=0": "the query parameter limit", "limit=1001": "limit", "limit=a": "limit", "limit=1&limit=2": "limit", "after=-1": "the query parameter after", "after=9007199254740992": "after",
		"limit=%zz": "the query of the URL cannot be read; percent-encode the names and values of its parameters, and separate them with &", "limit=2;after=1": "cannot be read",
	} {
		a := get(query)
		wantError(t, a, 400, petcat.CodeInvalidField)
		wantMessage(t, a, message)
	}
	wantHeader(t, get("limit=2", withHeader("Accept-Encoding", "gzip")), "Content-Encoding", "")

	t.Run("the tag of a page stays, whatever comes behind it", func(t *testing.T) {
		etag := withHeader("If-None-Match", get("limit=2").Header.Get("ETag"))
		wantStatus(t, s.create(`{"name":"new"}`, withKey(key)), 201)
		wantStatus(t, get("limit=2", etag), 304)
		wantStatus(t, s.do("PATCH", "/v1/categories/2", strings.NewReader(`{"name":"changed"}`), withKey(key)), 200)
		wantStatus(t, get("limit=2", etag), 200)
	})
}
