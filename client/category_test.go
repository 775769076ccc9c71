//go:build go1.26

package petcat_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"petcat/client"
)

func TestCategories(t *testing.T) {
	s := newService(1000, 1000)
	c := dial(t, s)
	ctx := t.Context()
	dog, res, err := c.Categories.Create(ctx, petcat.NewCategory{Name: "dog", Description: "Loyal & <hungry>"}, petcat.WithIdempotencyKey("mine"))
	must(t, err)
	if want := (petcat.Category{ID: 1, Name: "dog", Description: "Loyal & <hungry>", ETag: tagOf(dog)}); dog != want {
		t.Errorf("created %+v, want %+v", dog, want)
	}
	if res.Status != http.StatusCreated || res.RequestID != "TESTS001-1" || res.Limits.Remaining != 999 || res.Replayed || res.Header.Get("Date") == "" {
		t.Errorf("the response is %+v", res)
	}
	again, res, err := c.Categories.Create(ctx, petcat.NewCategory{Name: "dog", Description: "Loyal & <hungry>"}, petcat.WithIdempotencyKey("mine"))
	must(t, err)
	if again.ID != dog.ID || !res.Replayed {
		t.Errorf("created again: %+v, replayed %t", again, res.Replayed)
	}
	for _, change := range []struct {
		name                     string
		change                   petcat.CategoryChange
		body, wants, description string
	}{
		{name: "name", change: petcat.CategoryChange{Name: new("hound")}, body: `{"name":"hound"}`, wants: "hound", description: "Loyal & <hungry>"},
		{name: "description", change: petcat.CategoryChange{Description: new("Loyal")}, body: `{"description":"Loyal"}`, wants: "hound", description: "Loyal"},
		{name: "no description", change: petcat.CategoryChange{Description: new("")}, body: `{"description":null}`, wants: "hound"},
		{name: "nothing", body: `{}`, wants: "hound"},
	} {
		t.Run("update "+change.name, func(t *testing.T) {
			seen, _, err := c.Categories.Get(ctx, dog.ID)
			must(t, err)
			changed, _, err := c.Categories.Update(ctx, dog.ID, change.change, petcat.WithIfMatch(seen.ETag))
			must(t, err)
			if changed.Name != change.wants || changed.Description != change.description || changed.ETag == "" {
				t.Errorf("changed to %+v", changed)
			}
			if sent := s.last(); sent.body != change.body {
				t.Errorf("sent %s, want %s", sent.body, change.body)
			}
		})
	}
	_, _, err = c.Categories.Update(ctx, dog.ID, petcat.CategoryChange{Name: new("cat")}, petcat.WithIfMatch(dog.ETag))
	wantCode(t, err, petcat.CodePreconditionFailed)
	_, err = c.Categories.Delete(ctx, dog.ID, petcat.WithIfMatch(dog.ETag))
	wantCode(t, err, petcat.CodePreconditionFailed)
	_, err = c.Categories.Delete(ctx, dog.ID)
	must(t, err)
	_, res, err = c.Categories.Get(ctx, dog.ID)
	if e := wantCode(t, err, petcat.CodeNotFound); e.Status != http.StatusNotFound || res.Status != e.Status || e.RequestID == "" || e.Message == "" {
		t.Errorf("the error is %+v of %+v", e, res)
	}
	_, _, err = c.Categories.Create(ctx, petcat.NewCategory{})
	wantCode(t, err, petcat.CodeMissingField)
}

// TestEmptyConditions: an ETag or a key that was forgotten sends nothing.
func TestEmptyConditions(t *testing.T) {
	s := newService(60, 1000)
	c := dial(t, s)
	_, _, update := c.Categories.Update(t.Context(), 1, petcat.CategoryChange{}, petcat.WithIfMatch(""))
	_, remove := c.Categories.Delete(t.Context(), 1, petcat.WithIfMatch(""))
	_, _, create := c.Categories.Create(t.Context(), petcat.NewCategory{Name: "dog"}, petcat.WithIdempotencyKey(""))
	_, _, line := c.Categories.List(t.Context(), petcat.WithHeader("X-Line", "a\nb"))
	for _, err := range []error{update, remove, create, line} {
		if err == nil {
			t.Error("there is no error")
		}
	}
	if requests := s.log(); len(requests) > 0 {
		t.Errorf("it sent %+v", requests)
	}
}

func TestListIfChanged(t *testing.T) {
	s := newService(1000, 1000)
	c := dial(t, s)
	list, res, err := c.Categories.ListIfChanged(t.Context(), "")
	must(t, err)
	if list == nil || len(list) != 0 || res.ETag == "" {
		t.Errorf("the empty list is %v with %q", list, res.ETag)
	}
	list, same, err := c.Categories.ListIfChanged(t.Context(), res.ETag)
	must(t, err)
	if list != nil || same.Status != http.StatusNotModified || same.ETag != res.ETag {
		t.Errorf("an unchanged list is %v with %+v", list, same)
	}
	dog, _, err := c.Categories.Create(t.Context(), petcat.NewCategory{Name: "dog"})
	must(t, err)
	list, changed, err := c.Categories.ListIfChanged(t.Context(), res.ETag)
	must(t, err)
	if !slices.Equal(list, []petcat.Category{{ID: dog.ID, Name: "dog"}}) || changed.ETag == res.ETag {
		t.Errorf("the changed list is %v with %q", list, changed.ETag)
	}
}

// many returns a service with that many categories.
func many(n int) *service {
	s := newService(1000, 100_000)
	for i := range n {
		s.categories = append(s.categories, petcat.Category{ID: int64(i + 1), Name: fmt.Sprint("cat ", i+1)})
	}
	return s
}

// TestAll: a list of many pages is read to its end, and up to an error.
func TestAll(t *testing.T) {
	s := many(2500)
	n := int64(0)
	for category, err := range dial(t, s).Categories.All(t.Context(), petcat.PageOptions{}) {
		must(t, err)
		if n++; category.ID != n {
			t.Fatalf("category %d is number %d", category.ID, n)
		}
	}
	if requests := s.log(); n != 2500 || len(requests) != 3 || requests[0].path != "/v1/categories?limit=1000" || requests[2].path != "/v1/categories?after=2000&limit=1000" {
		t.Errorf("%d categories in %d requests", n, len(requests))
	}
	f := &faults{service: s, first: []func(*http.Request) (*http.Response, error){
		s.RoundTrip, says(http.StatusForbidden, petcat.CodeForbidden),
	}}
	n = 0
	var failure error
	for _, err := range dial(t, f).Categories.All(t.Context(), petcat.PageOptions{Limit: 100, After: 500}) {
		if failure = err; err == nil {
			n++
		}
	}
	wantCode(t, failure, petcat.CodeForbidden)
	if n != 100 {
		t.Errorf("%d categories before the error, want the first page", n)
	}
}

// TestNextPage: no link leads the key to another host, and a page that repeats ends with an error.
func TestNextPage(t *testing.T) {
	for link, ends := range map[string]bool{
		`<https://elsewhere.test/v1/categories?limit=2&after=2>; rel="next"`:                           true,
		`</v1/categories?limit=2>; rel="first", </v1/categories?limit=2&after=2>; title="x"; rel=next`: true,
	} {
		for _, repeats := range []bool{false, true} {
			s := many(3)
			api := dial(t, transport(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host != "petcat.test" {
					t.Errorf("it asks %s", r.URL)
				}
				if repeats {
					r.URL.RawQuery = "limit=2"
				}
				res, err := s.RoundTrip(r)
				if res.Header.Get("Link") != "" {
					res.Header.Set("Link", link)
				}
				return res, err
			}))
			var failure error
			n := 0
			for _, err := range api.Categories.All(t.Context(), petcat.PageOptions{Limit: 2}) {
				if failure = err; err == nil {
					n++
				}
			}
			if (failure == nil) != (ends && !repeats) || failure == nil && n != 3 {
				t.Errorf("%s: %d categories; the error is %v", link, n, failure)
			}
		}
	}
}

// TestPetsAndOrders: the requests of operations that the small service does not have.
func TestPetsAndOrders(t *testing.T) {
	var sent []string
	answer := ""
	c := dial(t, transport(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
	}))
	answer = `{"id":7,"name":"Rex","category_id":1}`
	rex, _, err := c.Pets.Create(t.Context(), petcat.NewPet{Name: "Rex", CategoryID: 1})
	must(t, err)
	same, _, err := c.Pets.Get(t.Context(), 7)
	must(t, err)
	if want := (petcat.Pet{ID: 7, Name: "Rex", CategoryID: 1}); rex != want || same != want {
		t.Errorf("the pet is %+v and %+v", rex, same)
	}
	answer = `[{"id":7,"name":"Rex","category_id":1}]`
	for pet, err := range c.Pets.All(t.Context(), petcat.PetOptions{CategoryID: 1, PageOptions: petcat.PageOptions{After: 6}}) {
		must(t, err)
		if pet != rex {
			t.Errorf("listed %+v", pet)
		}
	}
	answer = `{"id":2,"pet_id":7,"quantity":3}`
	order, _, err := c.Orders.Create(t.Context(), petcat.NewOrder{PetID: 7, Quantity: 3})
	must(t, err)
	answer = `[{"id":2,"pet_id":7,"quantity":3}]`
	for listed, err := range c.Orders.All(t.Context(), petcat.PageOptions{}) {
		must(t, err)
		if listed != order {
			t.Errorf("listed %+v, want %+v", listed, order)
		}
	}
	answer = `{"any":1}`
	var out struct{ Any int }
	_, err = c.Do(t.Context(), http.MethodPut, "/anything?q=1", map[string]int{"n": 2}, &out)
	must(t, err)
	if out.Any != 1 {
		t.Errorf("decoded %+v", out)
	}
	want := []string{
		`POST /v1/pets {"name":"Rex","category_id":1}`, "GET /v1/pets/7", "GET /v1/pets?after=6&category_id=1&limit=1000",
		`POST /v1/store/orders {"pet_id":7,"quantity":3}`, "GET /v1/store/orders?limit=1000", `PUT /v1/anything?q=1 {"n":2}`,
	}
	if !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}
