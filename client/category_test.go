package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petcat/client"
)

func TestCategories(t *testing.T) {
	s := newService(1000, 1000)
	c := newClient(t, s)
	ctx := t.Context()
	dog, err := c.Categories.Create(ctx, client.NewCategory{Name: "dog", Description: "Loyal & <hungry>"})
	must(t, err)
	if want := (client.Category{ID: 1, Name: "dog", Description: "Loyal & <hungry>"}); dog != want {
		t.Errorf("created %+v, want %+v", dog, want)
	}
	got, err := c.Categories.Get(ctx, dog.ID)
	must(t, err)
	if got.Name != "dog" || got.ETag == "" {
		t.Errorf("got %+v", got)
	}
	for _, change := range []struct {
		name              string
		change            client.CategoryChange
		body, wants, told string
	}{
		{name: "name", change: client.CategoryChange{Name: new("hound"), IfMatch: got.ETag}, body: `{"name":"hound"}`, wants: "hound", told: "Loyal & <hungry>"},
		{name: "description", change: client.CategoryChange{Description: new("Loyal")}, body: `{"description":"Loyal"}`, wants: "hound", told: "Loyal"},
		{name: "no description", change: client.CategoryChange{Description: new("")}, body: `{"description":null}`, wants: "hound"},
		{name: "nothing", body: `{}`, wants: "hound"},
	} {
		t.Run("update "+change.name, func(t *testing.T) {
			changed, err := c.Categories.Update(ctx, dog.ID, change.change)
			must(t, err)
			if changed.Name != change.wants || changed.Description != change.told || changed.ETag == "" {
				t.Errorf("changed to %+v", changed)
			}
			if sent := last(s); sent.body != change.body {
				t.Errorf("sent %s, want %s", sent.body, change.body)
			}
		})
	}
	_, err = c.Categories.Update(ctx, dog.ID, client.CategoryChange{Name: new("cat"), IfMatch: got.ETag})
	wantCode(t, err, client.CodePreconditionFailed)
	must(t, c.Categories.Delete(ctx, dog.ID))
	_, err = c.Categories.Get(ctx, dog.ID)
	if e := wantCode(t, err, client.CodeNotFound); e.Status != http.StatusNotFound || e.RequestID == "" || e.Message == "" {
		t.Errorf("the error is %+v", e)
	}
	_, err = c.Categories.Create(ctx, client.NewCategory{})
	wantCode(t, err, client.CodeMissingField)
}

// TestDeleteIfMatch: a category is deleted only as it was seen.
func TestDeleteIfMatch(t *testing.T) {
	s := newService(1000, 1000)
	c := newClient(t, s)
	ctx := t.Context()
	dog, err := c.Categories.Create(ctx, client.NewCategory{Name: "dog"})
	must(t, err)
	seen, err := c.Categories.Get(ctx, dog.ID)
	must(t, err)
	changed, err := c.Categories.Update(ctx, dog.ID, client.CategoryChange{Name: new("hound")})
	must(t, err)
	wantCode(t, c.Categories.DeleteIfMatch(ctx, dog.ID, seen.ETag), client.CodePreconditionFailed)
	before := len(s.log())
	if err := c.Categories.DeleteIfMatch(ctx, dog.ID, dog.ETag); err == nil || len(s.log()) != before {
		t.Errorf("without an ETag it was sent %d times; the error is %v", len(s.log())-before, err)
	}
	if names := s.names(); len(names) != 1 {
		t.Errorf("there are %v, want the hound", names)
	}
	must(t, c.Categories.DeleteIfMatch(ctx, dog.ID, changed.ETag))
	wantCode(t, c.Categories.DeleteIfMatch(ctx, dog.ID, changed.ETag), client.CodeNotFound)
}

// last returns the last request that came.
func last(s *service) seen {
	requests := s.log()
	return requests[len(requests)-1]
}

func TestListIfChanged(t *testing.T) {
	s := newService(1000, 1000)
	c := newClient(t, s)
	list, etag, err := c.Categories.ListIfChanged(t.Context(), "")
	must(t, err)
	if list == nil || len(list) != 0 || etag == "" {
		t.Errorf("the empty list is %v with %q", list, etag)
	}
	list, same, err := c.Categories.ListIfChanged(t.Context(), etag)
	must(t, err)
	if list != nil || same != etag {
		t.Errorf("an unchanged list is %v with %q, want none with %q", list, same, etag)
	}
	dog, err := c.Categories.Create(t.Context(), client.NewCategory{Name: "dog"})
	must(t, err)
	list, changed, err := c.Categories.ListIfChanged(t.Context(), etag)
	must(t, err)
	if diff := cmp.Diff([]client.Category{dog}, list); diff != "" || changed == etag {
		t.Errorf("the changed list has %q (-want +got):\n%s", changed, diff)
	}
}

// many returns a service with that many categories.
func many(n int) *service {
	s := newService(1000, 100_000)
	for i := range n {
		s.categories = append(s.categories, client.Category{ID: int64(i + 1), Name: fmt.Sprint("cat ", i+1)})
	}
	return s
}

func TestPages(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      int
		paging client.Paging
		sizes  []int
		first  string // request
	}{
		{name: "none", n: 0, sizes: []int{0}, first: "/v1/categories?limit=1000"},
		{name: "one page", n: 7, paging: client.Paging{Limit: 7}, sizes: []int{7}, first: "/v1/categories?limit=7"},
		{name: "several", n: 7, paging: client.Paging{Limit: 3}, sizes: []int{3, 3, 1}, first: "/v1/categories?limit=3"},
		{name: "from an id on", n: 7, paging: client.Paging{Limit: 2, After: 4}, sizes: []int{2, 1}, first: "/v1/categories?after=4&limit=2"},
		{name: "behind the last", n: 7, paging: client.Paging{After: 7}, sizes: []int{0}, first: "/v1/categories?after=7&limit=1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := many(c.n)
			next, sizes := c.paging.After+1, []int(nil)
			for page, err := range newClient(t, s).Categories.Pages(t.Context(), c.paging) {
				must(t, err)
				sizes = append(sizes, len(page))
				for _, category := range page {
					if category.ID != next {
						t.Errorf("category %d follows %d", category.ID, next-1)
					}
					next++
				}
			}
			if diff := cmp.Diff(c.sizes, sizes); diff != "" {
				t.Errorf("sizes of the pages (-want +got):\n%s", diff)
			}
			requests := s.log()
			if len(requests) != len(c.sizes) || requests[0].path != c.first {
				t.Errorf("%d requests, the first for %s", len(requests), requests[0].path)
			}
		})
	}
}

// TestAll: a list of many pages is read to its end, as far as somebody asks, and up to an
// error.
func TestAll(t *testing.T) {
	s := many(2500)
	c := newClient(t, s)
	n := int64(0)
	for category, err := range c.Categories.All(t.Context()) {
		must(t, err)
		if n++; category.ID != n {
			t.Fatalf("category %d is number %d", category.ID, n)
		}
	}
	if requests := s.log(); n != 2500 || len(requests) != 3 {
		t.Errorf("%d categories in %d requests", n, len(requests))
	}
	for _, err := range c.Categories.All(t.Context()) {
		must(t, err)
		break
	}
	if requests := s.log(); len(requests) != 4 {
		t.Errorf("the first category took %d requests, want 1", len(requests)-3)
	}

	f := &faults{service: s, first: []func(*http.Request) (*http.Response, error){
		s.RoundTrip, says(http.StatusForbidden, client.CodeForbidden),
	}}
	n = 0
	var ends []error
	for _, err := range dial(t, client.WithTransport(f)).Categories.All(t.Context()) {
		if err != nil {
			ends = append(ends, err)
			continue
		}
		n++
	}
	if n != 1000 || len(ends) != 1 {
		t.Fatalf("%d categories and the errors %v, want the first page and one error", n, ends)
	}
	wantCode(t, ends[0], client.CodeForbidden)
}

// TestPagesOfAnotherHost: a link to another host takes the key nowhere, and one to the
// same page ends.
func TestPagesOfAnotherHost(t *testing.T) {
	for _, c := range []struct {
		name, link string
		hosts      int
		fails      bool
	}{
		{name: "another host", link: `<https://elsewhere.test/v1/categories?limit=2&after=2>; rel="next"`, hosts: 2},
		{name: "beside others", link: `</v1/categories?limit=2>; rel="first", </v1/categories?limit=2&after=2>; title="x"; rel=next`, hosts: 2},
		{name: "no next", link: `</v1/categories?limit=2>; rel="first"`, hosts: 1},
		{name: "the same page", link: `</v1/categories?limit=2>; rel="next"`, hosts: 1, fails: true},
		{name: "no URL", link: `<:>; rel="next"`, hosts: 1, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := many(3)
			var asked []string
			api := dial(t, client.WithTransport(transport(func(r *http.Request) (*http.Response, error) {
				asked = append(asked, r.URL.Host)
				res, err := s.RoundTrip(r)
				if res.Header.Get("Link") != "" {
					res.Header.Set("Link", c.link)
				}
				return res, err
			})))
			var failure error
			for _, err := range api.Categories.Pages(t.Context(), client.Paging{Limit: 2}) {
				failure = err
			}
			if (failure != nil) != c.fails || len(asked) != c.hosts || asked[len(asked)-1] != "petcat.test" {
				t.Errorf("asked %v; the error is %v", asked, failure)
			}
		})
	}
}
