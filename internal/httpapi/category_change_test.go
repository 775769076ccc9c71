package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/httpapi"
)

// changesPage returns the body of a page of changes, and the path of the next one, which every page has.
func changesPage(t *testing.T, a *response) (body, next string) {
	t.Helper()
	wantStatus(t, a, 200)
	link := a.Header.Get("Link")
	next, found := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	if !found {
		t.Fatalf("Link: %s", link)
	}
	return string(a.body), next
}

func TestListCategoryChanges(t *testing.T) {
	queries := 0
	s := start(t, func(o *httpapi.Options) { o.Store = counting{o.Store, &queries} })
	key, _ := s.key(s.account("acme", petcat.Pro))
	get := func(path string) *response { return s.do("GET", path, nil, withKey(key)) }
	const changes = "/v1/categories/changes"

	body, empty := changesPage(t, get(changes))
	wantBody := func(what, want string) {
		t.Helper()
		if body != want {
			t.Errorf("%s: %s, want %s", what, body, want)
		}
	}
	wantBody("an empty list", "[]")
	for id := range 4 {
		wantStatus(t, s.create(fmt.Sprintf(`{"name":"%d"}`, id+1), withKey(key)), 201)
	}
	wantStatus(t, s.do("PATCH", "/v1/categories/1", strings.NewReader(`{"name":"one"}`), withKey(key)), 200)
	wantStatus(t, s.do("DELETE", "/v1/categories/3", nil, withKey(key)), 204)

	body, next := changesPage(t, get(changes+"?limit=2"))
	wantBody("the first page", `[{"id":2,"category":{"id":2,"name":"2"}},{"id":4,"category":{"id":4,"name":"4"}}]`)
	wantStatus(t, s.do("DELETE", "/v1/categories/2", nil, withKey(key)), 204)
	body, next = changesPage(t, get(next))
	wantBody("the second page", `[{"id":1,"category":{"id":1,"name":"one"}},{"id":2,"deleted":true}]`)
	queries = 0
	body, same := changesPage(t, get(next))
	wantBody("nothing new", "[]")
	if same != next || queries != 0 {
		t.Errorf("nothing new: the next page is %s after %s, with %d queries", same, next, queries)
	}
	body, _ = changesPage(t, get(empty))
	wantBody("all, since the list was empty", `[{"id":4,"category":{"id":4,"name":"4"}},`+
		`{"id":1,"category":{"id":1,"name":"one"}},{"id":3,"deleted":true},{"id":2,"deleted":true}]`)

	before := get(changes).number(t, "X-RateLimit-Remaining")
	if after := get(changes).number(t, "X-RateLimit-Remaining"); after != before-1 {
		t.Errorf("%d requests remain after %d", after, before)
	}
	_, cursor, _ := strings.Cut(next, "after=")
	dataset := s.store.Dataset()
	for cursor, want := range map[string]petcat.Code{
		cursor:                "",
		cursor + "&limit=0":   petcat.CodeInvalidField,
		cursor + "&after=":    petcat.CodeInvalidField,
		"":                    petcat.CodeInvalidField,
		"7":                   petcat.CodeInvalidField,
		"-7-6":                petcat.CodeInvalidField,
		dataset + "-7":        petcat.CodeInvalidField,
		dataset + "-7--6":     petcat.CodeInvalidField,
		"other-7-6":           petcat.CodeCursorExpired,
		dataset + "-999-6":    petcat.CodeCursorExpired, // of a later state
		dataset + "-1-999999": petcat.CodeCursorExpired,
	} {
		a := get(changes + "?after=" + cursor)
		if a.StatusCode != 200 || want != "" {
			status := map[petcat.Code]int{petcat.CodeInvalidField: 400, petcat.CodeCursorExpired: 410}
			wantError(t, a, status[want], want)
		}
	}
}

// counting counts the queries for changes.
type counting struct {
	httpapi.Store

	queries *int
}

func (c counting) CategoryChanges(ctx context.Context, q petcat.ChangeQuery) ([]petcat.RevisedCategory, error) {
	*c.queries++
	return c.Store.CategoryChanges(ctx, q)
}

// TestChangesAfterList: the changes include those that the list of the node lacks, such as a command's.
func TestChangesAfterList(t *testing.T) {
	old := catalog.New("data")
	dogs := petcat.Category{ID: 1, Name: "Dogs"}
	old.Apply([]petcat.RevisedCategory{{Category: dogs, Revision: 1}})
	s := start(t, func(o *httpapi.Options) { o.Catalog = old })
	key, _ := s.key(s.account("acme", petcat.Pro))
	wantStatus(t, s.create(`{"name":"Cats"}`, withKey(key)), 201)
	body, next := changesPage(t, s.do("GET", "/v1/categories/changes", nil, withKey(key)))
	if want := `[{"id":1,"category":{"id":1,"name":"Cats"}}]`; body != want {
		t.Errorf("%s, want %s", body, want)
	}
	body, same := changesPage(t, s.do("GET", next, nil, withKey(key)))
	if body != "[]" || same != next {
		t.Errorf("nothing new: %s, and %s after %s", body, same, next)
	}
}

func TestListOwnCategories(t *testing.T) {
	s := start(t)
	mine, _ := s.key(s.account("acme", petcat.Pro))
	theirs, _ := s.key(s.account("zoo", petcat.Pro))
	for i, key := range []string{mine, theirs, mine, theirs, mine, mine} {
		wantStatus(t, s.create(fmt.Sprintf(`{"name":"%d"}`, i%3), withKey(key)), 201)
	}
	wantStatus(t, s.do("DELETE", "/v1/categories/3", nil, withKey(mine)), 204)
	for query, want := range map[string][]int64{
		"owner=me":                {1, 5, 6},
		"owner=me&limit=2":        {1, 5},
		"owner=me&after=1":        {5, 6},
		"owner=me&name=2":         {6},
		"owner=me&name=0&limit=1": {1},
		"owner=me&name=":          nil,
		"owner=me&name=%ff":       nil,
	} {
		a := s.do("GET", "/v1/categories?"+query, nil, withKey(mine))
		ids, next := pageIDs(t, a)
		if diff := cmp.Diff(want, ids); diff != "" || (next != "") != (query == "owner=me&limit=2") {
			t.Errorf("%s: (-want +got)\n%snext page %q", query, diff, next)
		}
		if next != "" {
			wantHeader(t, a, "Link", `</v1/categories?owner=me&limit=2&after=5>; rel="next"`)
		}
		same := withHeader("If-None-Match", a.Header.Get("ETag"))
		wantStatus(t, s.do("GET", "/v1/categories?"+query, nil, withKey(mine), same), 304)
	}
	ids, _ := pageIDs(t, s.do("GET", "/v1/categories?owner=me", nil, withKey(theirs)))
	if diff := cmp.Diff([]int64{2, 4}, ids); diff != "" {
		t.Errorf("of the other account (-want +got):\n%s", diff)
	}
	for _, query := range []string{"owner=acme", "owner=", "owner=me&owner=me"} {
		wantError(t, s.do("GET", "/v1/categories?"+query, nil, withKey(mine)), 400, petcat.CodeInvalidField)
	}
}

// TestMirrorOnFree: on the plan Free, one request every two minutes keeps a copy of 10,000 categories
// current for a day, which begins with the copy of all.
func TestMirrorOnFree(t *testing.T) {
	const categories, step = 10_000, 2 * time.Minute
	s := start(t)
	s.advance(noon.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(noon))
	author := s.account("acme", petcat.Business).ID
	var filling sync.WaitGroup
	for w := range 50 {
		filling.Go(func() {
			for n := range categories / 50 {
				s.put(t, author, 0, fmt.Sprint(w, "/", n))
			}
		})
	}
	filling.Wait()
	reader, _ := s.key(s.account("zoo", petcat.Free))
	names, next := make(map[int64]string), "/v1/categories/changes?limit=1000"
	read := func() (changes int) {
		var body string
		body, next = changesPage(t, s.do("GET", next, nil, withKey(reader)))
		var page []struct {
			ID       int64
			Category *struct{ Name string }
		}
		must(t, json.Unmarshal([]byte(body), &page))
		for _, change := range page {
			if change.Category == nil {
				delete(names, change.ID)
			} else {
				names[change.ID] = change.Category.Name
			}
		}
		return len(page)
	}
	for read() == 1000 {
	}
	for n := range int(24*time.Hour/step) - 1 {
		s.advance(step)
		id := petcat.CategoryID(n + 1)
		switch n % 3 {
		case 0:
			s.put(t, author, 0, "new")
		case 1:
			s.put(t, author, id, fmt.Sprint("changed ", n))
		case 2:
			must(t, s.store.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: id, Account: author}))
		}
		if got := read(); got != 1 {
			t.Fatalf("%d changes after %s, want 1", got, time.Duration(n+1)*step)
		}
	}
	want := make(map[int64]string)
	must(t, s.store.EachCategory(t.Context(), func(c petcat.RevisedCategory) error {
		if !c.Deleted {
			want[int64(c.ID)] = c.Name
		}
		return nil
	}))
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("the copy (-list +copy):\n%s", diff)
	}
}

// put creates a category if id is 0, or changes its name.
func (s *service) put(t *testing.T, author petcat.AccountID, id petcat.CategoryID, name string) {
	t.Helper()
	var err error
	if id == 0 {
		var n petcat.NewCategory
		if n, err = petcat.ParseNewCategory(&name, nil); err == nil {
			_, err = s.store.CreateCategory(t.Context(), petcat.CreateCategory{
				Account: author,
				New:     n,
			})
		}
	} else {
		var p petcat.CategoryPatch
		if p, err = petcat.ParseCategoryPatch(&name, nil, false); err == nil {
			_, err = s.store.UpdateCategory(t.Context(), petcat.UpdateCategory{
				ID:      id,
				Account: author,
				Patch:   p,
			})
		}
	}
	if err != nil {
		t.Errorf("%q was not stored: %v", name, err)
	}
}
