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
	if want := (client.Category{ID: 1, Name: "dog", Description: "Loyal & <hungry>", ETag: `"1"`}); dog != want {
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
	if diff := cmp.Diff([]client.Category{{ID: dog.ID, Name: "dog"}}, list); diff != "" || changed == etag {
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

// TestAll: a list of many pages is read to its end, and up to an error.
func TestAll(t *testing.T) {
	s := many(2500)
	n := int64(0)
	for category, err := range newClient(t, s).Categories.All(t.Context()) {
		must(t, err)
		if n++; category.ID != n {
			t.Fatalf("category %d is number %d", category.ID, n)
		}
	}
	if requests := s.log(); n != 2500 || len(requests) != 3 || requests[0].path != "/v1/categories?limit=1000" {
		t.Errorf("%d categories in %d requests", n, len(requests))
	}
	f := &faults{service: s, first: []func(*http.Request) (*http.Response, error){
		s.RoundTrip, says(http.StatusForbidden, client.CodeForbidden),
	}}
	n = 0
	var failure error
	for _, err := range dial(t, client.WithTransport(f)).Categories.All(t.Context()) {
		if failure = err; err == nil {
			n++
		}
	}
	wantCode(t, failure, client.CodeForbidden)
	if n != 1000 {
		t.Errorf("%d categories before the error, want the first page", n)
	}
}

// TestLinkToAnotherHost takes the key nowhere; a link to the same page ends the list with an error.
func TestLinkToAnotherHost(t *testing.T) {
	for link, fails := range map[string]bool{
		`<https://elsewhere.test/v1/categories?limit=2&after=2>; rel="next"`:                           false,
		`</v1/categories?limit=2>; rel="first", </v1/categories?limit=2&after=2>; title="x"; rel=next`: false,
		`</v1/categories?limit=2>; rel="next"`:                                                         true,
		`<:>; rel="next"`:                                                                              true,
	} {
		s := many(3)
		api := dial(t, client.WithTransport(transport(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "petcat.test" {
				t.Errorf("it asks %s", r.URL)
			}
			res, err := s.RoundTrip(r)
			if res.Header.Get("Link") != "" {
				res.Header.Set("Link", link)
			}
			return res, err
		})))
		var failure error
		n := 0
		for page, err := range api.Categories.Pages(t.Context(), client.PageOptions{Limit: 2}) {
			failure = err
			n += len(page)
		}
		if (failure != nil) != fails || !fails && n != 3 {
			t.Errorf("%s: %d categories; the error is %v", link, n, failure)
		}
	}
}
