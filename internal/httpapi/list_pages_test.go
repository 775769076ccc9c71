package httpapi_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/httpapi"
)

// pageIDs returns the ids of a page, and the path of the next page, "" if there is none.
func pageIDs(t *testing.T, a *response) (ids []int64, next string) {
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
	get := func(query string, changes ...request) *response {
		return s.do("GET", "/v1/categories?"+query, nil, append(changes, withKey(key))...)
	}
	if ids, next := pageIDs(t, get("limit=1")); len(ids) != 0 || next != "" {
		t.Errorf("empty list: %v, %q", ids, next)
	}
	var all []int64
	for id := range int64(205) {
		wantStatus(t, s.create(fmt.Sprintf(`{"name":"%d"}`, id), withKey(key)), 201)
		all = append(all, id+1)
	}
	for query, want := range map[string][]int64{
		"limit=205":              all,
		"limit=204":              all[:204],
		"after=0":                all[:100],
		"after=200":              all[200:],
		"after=205":              nil,
		"after=9007199254740991": nil,
		"x=1&limit=2&after=%31":  {2, 3},
	} {
		ids, next := pageIDs(t, get(query))
		if more := len(ids) > 0 && ids[len(ids)-1] < 205; !slices.Equal(ids, want) || (next != "") != more {
			t.Errorf("%s: %v and a next page %q, want %v", query, ids, next, want)
		}
	}
	for query, message := range map[string]string{
		"limit=0":                "the query parameter limit",
		"limit=1001":             "limit",
		"limit=a":                "limit",
		"limit=1&limit=2":        "limit",
		"after=-1":               "the query parameter after",
		"after=9007199254740992": "after",
		"limit=%zz":              "percent-encode the names and values of its parameters, and separate them with &",
		"limit=2;after=1":        "the query of the URL cannot be read",
	} {
		a := get(query)
		wantError(t, a, 400, petcat.CodeInvalidField)
		wantMessage(t, a, message)
	}
	wantHeader(t, get("limit=2", withHeader("Accept-Encoding", "gzip")), "Content-Encoding", "")

	t.Run("later categories do not change the ETag of a page", func(t *testing.T) {
		etag := withHeader("If-None-Match", get("limit=2").Header.Get("ETag"))
		wantStatus(t, s.create(`{"name":"new"}`, withKey(key)), 201)
		wantStatus(t, get("limit=2", etag), 304)
		wantStatus(t, s.do("PATCH", "/v1/categories/2", strings.NewReader(`{"name":"changed"}`), withKey(key)), 200)
		wantStatus(t, get("limit=2", etag), 200)
	})
}

// TestListByName: the filter returns exact matches, anywhere in the list.
func TestListByName(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.PublicURL = "https://api.example.com" })
	key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000_000, 100_000_000))
	for _, name := range []string{"dog", "dogs", "cat", "dog", `"dog"`, "é &", "dog"} {
		body, err := json.Marshal(map[string]string{"name": name, "description": `,"name":"cat"`})
		must(t, err)
		wantStatus(t, s.create(string(body), withKey(key)), 201)
	}
	for query, want := range map[string][]int64{
		"name=dog":         {1, 4, 7},
		"name=do":          nil,
		"name=cat":         {3},
		"name=%22dog%22":   {5},
		"name=%C3%A9+%26":  {6},
		"name=":            nil,
		"name=%ff":         nil,
		"name=dog&after=1": {4, 7}, "name=dog&limit=3": {1, 4, 7}, "name=dog&after=7": nil,
	} {
		ids, next := pageIDs(t, s.do("GET", "/v1/categories?"+query, nil, withKey(key)))
		if !slices.Equal(ids, want) || next != "" {
			t.Errorf("%s: %v and %q, want %v", query, ids, next, want)
		}
	}
	a := s.do("GET", "/v1/categories?name=dog&limit=2", nil, withKey(key))
	wantHeader(t, a, "Link", `<https://api.example.com/v1/categories?name=dog&limit=2&after=4>; rel="next"`)
	same := withHeader("If-None-Match", a.Header.Get("ETag"))
	wantStatus(t, s.do("GET", "/v1/categories?name=dog&limit=2", nil, withKey(key), same), 304)
	wantError(t, s.do("GET", "/v1/categories?name=a&name=b", nil, withKey(key)), 400, petcat.CodeInvalidField)
}

func TestIgnoredParameters(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Pro))
	for path, want := range map[string]string{
		"/v1/categories?limit=1&after=1&name=x":              "",
		"/v1/categories?starting_after=2&Limit=2&limit=1&&=": "starting_after, Limit",
		"/v1/categories?a%20b=1&%C3%A9&c,d&a%20b=2":          "a%20b, %C3%A9, c%2Cd",
		"/v1/pets?category_id=1&x":                           "x",
		"/v1/usage?limit=1":                                  "limit",
		"/v1/categories/1?a&b&c&d&e&f&g&h&i&j&k&l":           "a, b, c, d, e, f, g, h, i, j",
		"/v1/categories?%zz=1":                               "%25zz",

		"/v1/categories?" + strings.Repeat("p", 64):              strings.Repeat("p", 64),
		"/v1/categories?" + strings.Repeat("p", 4000):            strings.Repeat("p", 64) + "...",
		"/v1/categories?" + strings.Repeat("p", 62) + "%C3%A9":   strings.Repeat("p", 62) + "...",
		"/v1/categories?" + strings.Repeat("p", 61) + "%C3%A9":   strings.Repeat("p", 61) + "%C3...",
		"/v1/categories?" + strings.Repeat("%C3%A9", 600):        strings.Repeat("%C3%A9", 10) + "%C3...",
		"/v1/categories?" + strings.Repeat("p", 64) + "&" + "qq": strings.Repeat("p", 64) + ", qq",
	} {
		wantHeader(t, s.do("GET", path, nil, withKey(key)), "X-Ignored-Parameters", want)
	}
}

func TestErrorField(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Pro))
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/v1/categories", `{}`, "name"},
		{"POST", "/v1/categories", `{"name":""}`, "name"},
		{"POST", "/v1/categories", `{"name":"x","description":1}`, "description"},
		{"PATCH", "/v1/categories/1", `{"name":null}`, "name"},
		{"POST", "/v1/pets", `{"name":"x"}`, "category_id"},
		{"POST", "/v1/pets", `{"name":"x","category_id":7}`, "category_id"},
		{"POST", "/v1/store/orders", `{"pet_id":1,"quantity":0}`, "quantity"},
		{"POST", "/v1/store/orders", `{"pet_id":9,"quantity":1}`, "pet_id"},
		{"GET", "/v1/categories?limit=0", ``, "limit"},
		{"GET", "/v1/pets?category_id=x", ``, "category_id"},
		{"GET", "/v1/categories?a=%zz", ``, ""},
		{"POST", "/v1/categories", `[]`, ""},
	} {
		a := s.do(c.method, c.path, strings.NewReader(c.body), withKey(key))
		wantStatus(t, a, 400)
		wantHeader(t, a, "X-Error-Field", c.want)
	}
	a := s.create(`{"name":"x"}`, withKey(key), withHeader("Idempotency-Key", "a b"))
	wantHeader(t, a, "X-Error-Field", "Idempotency-Key")
}
