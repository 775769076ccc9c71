package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func TestGetCategory(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	created := s.create(`{"name":"cat","description":"a\tb"}`, withKey(key))
	get := func(id string, changes ...request) *response {
		return s.do("GET", "/v1/categories/"+id, nil, append(changes, withKey(key))...)
	}
	a := s.do("GET", created.Header.Get("Location"), nil, withKey(key))
	if a.StatusCode != 200 || string(a.body) != string(created.body) {
		t.Errorf("%d %s, created %s", a.StatusCode, a.body, created.body)
	}
	wantHeader(t, a, "Cache-Control", "private, no-cache")
	wantHeader(t, a, "X-Stability", "beta")
	etag := a.Header.Get("ETag")
	wantHeader(t, created, "ETag", etag)
	wantStatus(t, get("2", withHeader("If-None-Match", etag)), 304)
	wantStatus(t, get("1", withHeader("If-None-Match", etag)), 200)
	wantError(t, get("1", withHeader("If-Match", etag)), 412, petcat.CodePreconditionFailed)
	wantStatus(t, get("%31"), 200)
	for _, id := range []string{
		"0", "-1", "01", "1.0", "9007199254740992", "18446744073709551617", "1%20", "1/", "%31%00", "{categoryId}",
	} {
		wantError(t, get(id), 404, petcat.CodeNotFound)
	}
}

// TestCategoryIDIsNoNumber: all methods explain the form of an id, and what became of an unknown one.
func TestCategoryIDIsNoNumber(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Pro))
	for id, message := range map[string]string{
		"x": "is a whole number, as in /v1/categories/4",
		"3": "may have been deleted",
	} {
		for _, method := range []string{"GET", "PATCH", "DELETE"} {
			for _, change := range []request{func(*http.Request) {}, withHeader("If-Match", `"a"`)} {
				a := s.do(method, "/v1/categories/"+id, strings.NewReader(`{}`), withKey(key), change)
				wantError(t, a, 404, petcat.CodeNotFound)
				wantMessage(t, a, message)
			}
		}
	}
}

func TestUpdateCategory(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	other, _ := s.key(s.account("other", petcat.Enterprise, 100_000, 1_000_000))
	wantStatus(t, s.create(`{"name":"dog","description":"loyal"}`, withKey(key)), 201)
	patch := func(id, body, key string, changes ...request) *response {
		return s.do("PATCH", "/v1/categories/"+id, strings.NewReader(body), append(changes, withKey(key))...)
	}
	get := func() *response { return s.do("GET", "/v1/categories/1", nil, withKey(key)) }
	for _, c := range []struct{ patch, want string }{
		{`{"name":"hound"}`, `{"id":1,"name":"hound","description":"loyal"}`},
		{`{"description":"a\nb"}`, `{"id":1,"name":"hound","description":"a\nb"}`},
		{`{"description":null}`, `{"id":1,"name":"hound"}`},
		{`{}`, `{"id":1,"name":"hound"}`},
		{`{"id":7,"colour":"red","name":"dog"}`, `{"id":1,"name":"dog"}`},
	} {
		a := patch("1", c.patch, key, withHeader("Content-Type", "application/merge-patch+json"))
		wantStatus(t, a, 200)
		now, list := get(), s.list(withKey(key))
		if string(a.body) != c.want || string(now.body) != c.want || string(list.body) != "["+c.want+"]" {
			t.Errorf("%s: response %s, then %s and %s, want %s", c.patch, a.body, now.body, list.body, c.want)
		}
		wantHeader(t, a, "ETag", now.Header.Get("ETag"))
		wantHeader(t, a, "Cache-Control", "no-store")
	}
	for body, code := range map[string]petcat.Code{
		`{"name":`:                 petcat.CodeMalformedJSON,
		`[]`:                       petcat.CodeInvalidBody,
		`{"name":null}`:            petcat.CodeInvalidField,
		`{"description":"\u0000"}`: petcat.CodeInvalidField,
	} {
		wantError(t, patch("1", body, key), 400, code)
	}
	wantError(t, patch("1", `{"name":"mine"}`, other), 403, petcat.CodeForbidden)
	for _, id := range []string{"2", "x"} {
		wantError(t, patch(id, `{}`, key, withHeader("If-Match", `"a"`)), 404, petcat.CodeNotFound)
	}
	etag := get().Header.Get("ETag")
	wantError(t, patch("1", `{"name":"a"}`, key, withHeader("If-Match", `"other"`)), 412, petcat.CodePreconditionFailed)
	wantError(t, patch("1", `{"name":"a"}`, key, withHeader("If-None-Match", etag)), 412, petcat.CodePreconditionFailed)
	wantStatus(t, patch("1", `{"name":"a"}`, key, withHeader("If-Match", etag)), 200)
	a := patch("1", `{}`, key, withHeader("Content-Type", "application/json-patch+json"))
	wantError(t, a, 415, petcat.CodeUnsupportedMediaType)
	wantHeader(t, a, "Accept-Patch", "application/merge-patch+json, application/json")
}

func TestDeleteCategory(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	other, _ := s.key(s.account("other", petcat.Enterprise, 100_000, 1_000_000))
	for range 2 {
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	}
	remove := func(id, key string, changes ...request) *response {
		return s.do("DELETE", "/v1/categories/"+id, nil, append(changes, withKey(key))...)
	}
	etag := s.do("GET", "/v1/categories/1", nil, withKey(key)).Header.Get("ETag")
	wantError(t, remove("1", other), 403, petcat.CodeForbidden)
	wantError(t, remove("1", key, withHeader("If-Match", `"other"`)), 412, petcat.CodePreconditionFailed)
	wantError(t, remove("1", key, withHeader("If-None-Match", etag)), 412, petcat.CodePreconditionFailed)
	wantStatus(t, s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(other)), 201) // does not prevent changes
	wantStatus(t, s.post("/v1/pets", `{"name":"Rex","category_id":2}`, withKey(key)), 201)
	used := remove("2", key)
	wantError(t, used, 409, petcat.CodeCategoryInUse)
	wantHeader(t, used, "Retry-After", "") // waiting does not help

	a := remove("1", key, withHeader("If-Match", etag))
	wantStatus(t, a, 204)
	if len(a.body) != 0 || a.Header.Get("Content-Length") != "" || a.Header.Get("Content-Type") != "" {
		t.Errorf("%q, %v", a.body, a.Header)
	}
	wantHeader(t, a, "X-Stability", "beta")
	for _, id := range []string{"1", "4", "x"} {
		wantError(t, remove(id, key), 404, petcat.CodeNotFound)
	}
	if list := s.list(withKey(key)); string(list.body) != `[{"id":2,"name":"dog"}]` {
		t.Errorf("list: %s", list.body)
	}
}

// TestIdempotencyKeyOfChanges: only a POST takes an Idempotency-Key. Another change is rejected with one,
// because it would be ignored, and the category stays the same.
func TestIdempotencyKeyOfChanges(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Pro))
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	for _, o := range petcat.Operations() {
		if !o.Writes() || o.Method == http.MethodPost {
			continue
		}
		path := "/v1" + strings.NewReplacer("{categoryId}", "1", "{petId}", "1").Replace(o.Path)
		body := strings.NewReader(`{"name":"cat"}`)
		a := s.do(o.Method, path, body, withKey(key), withHeader("Idempotency-Key", "k1"))
		wantError(t, a, 400, petcat.CodeInvalidField)
		wantHeader(t, a, "X-Error-Field", "Idempotency-Key")
		wantMessage(t, a, o.Method+" takes no Idempotency-Key; ")
	}
	if list := s.list(withKey(key)); string(list.body) != `[{"id":1,"name":"dog"}]` {
		t.Errorf("list: %s", list.body)
	}
	wantStatus(t, s.do("GET", "/v1/categories/1", nil, withKey(key), withHeader("Idempotency-Key", "k1")), 200)
}

func TestReadOnlyKey(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Pro)
	key, _ := s.keyOn(account, petcat.KeyTerms{ReadOnly: true})
	before := s.list(withKey(key)).number(t, "X-RateLimit-Remaining")
	a := s.create(`{`, withKey(key)) // before the body is looked at
	wantError(t, a, 403, petcat.CodeForbidden)
	wantMessage(t, a, "this API key is read-only")
	wantHeader(t, a, "WWW-Authenticate", "")
	if got := a.number(t, "X-RateLimit-Remaining"); got != before-1 {
		t.Errorf("%d requests remain after a 403, %d before it", got, before)
	}
	ids := strings.NewReplacer("{categoryId}", "1", "{petId}", "1")
	for _, o := range petcat.Operations() { // whatever is added to the registry
		if o.Own {
			continue // TestOwnKeyReadOnly
		}
		a := s.do(o.Method, "/v1"+ids.Replace(o.Path), nil, withKey(key))
		if forbidden := a.StatusCode == 403; forbidden != (o.Method != "GET") {
			t.Errorf("%s: %d", o.ID, a.StatusCode)
		}
	}
}
