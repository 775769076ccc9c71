package httpapi_test

import (
	"strings"
	"testing"

	"petcat"
)

func TestUpdateCategory(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	other, _ := s.key(s.account("other", petcat.Enterprise, 100_000, 1_000_000))
	wantStatus(t, s.create(`{"name":"dog","description":"loyal"}`, withKey(key)), 201)
	patch := func(body string, changes ...request) *answer {
		t.Helper()
		all := append([]request{withHeader("Content-Type", "application/merge-patch+json"), withKey(key)}, changes...)
		return s.do("PATCH", "/v1/categories/1", strings.NewReader(body), all...)
	}
	get := func() *answer { return s.do("GET", "/v1/categories/1", nil, withKey(key)) }

	for _, c := range []struct{ name, patch, want string }{
		{"200 name", `{"name":"hound"}`, `{"id":1,"name":"hound","description":"loyal"}`},
		{"200 description", `{"description":"a\nb"}`, `{"id":1,"name":"hound","description":"a\nb"}`},
		{"200 null takes the description away", `{"description":null}`, `{"id":1,"name":"hound"}`},
		{"200 nothing", `{}`, `{"id":1,"name":"hound"}`},
		{"200 unknown members are ignored, and so is id", `{"id":7,"colour":"red","name":"dog"}`, `{"id":1,"name":"dog"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := patch(c.patch)
			wantStatus(t, a, 200)
			now := get()
			if string(a.body) != c.want || string(now.body) != c.want {
				t.Errorf("answered %s, then read %s, want %s", a.body, now.body, c.want)
			}
			wantHeader(t, a, "ETag", now.Header.Get("ETag"))
			wantHeader(t, a, "Cache-Control", "no-store")
			if list := s.list(withKey(key)); string(list.body) != "["+c.want+"]" {
				t.Errorf("the list is %s", list.body)
			}
		})
	}
	t.Run("400", func(t *testing.T) {
		for body, code := range map[string]petcat.Code{
			`{"name":`: petcat.CodeMalformedJSON, `[]`: petcat.CodeInvalidBody, `{"name":null}`: petcat.CodeInvalidField, `{"description":"\u0000"}`: petcat.CodeInvalidField,
		} {
			wantError(t, patch(body), 400, code)
		}
	})
	t.Run("403 of another account", func(t *testing.T) {
		a := s.do("PATCH", "/v1/categories/1", strings.NewReader(`{"name":"mine"}`), withKey(other))
		wantError(t, a, 403, petcat.CodeForbidden)
	})
	t.Run("404", func(t *testing.T) {
		for _, id := range []string{"2", "x", "0"} {
			wantError(t, s.do("PATCH", "/v1/categories/"+id, strings.NewReader(`{}`), withKey(key)), 404, petcat.CodeNotFound)
			wantError(t, s.do("PATCH", "/v1/categories/"+id, strings.NewReader(`{}`), withKey(key), withHeader("If-Match", `"a"`)), 404, petcat.CodeNotFound)
		}
	})
	t.Run("412", func(t *testing.T) {
		etag := get().Header.Get("ETag")
		wantError(t, patch(`{"name":"a"}`, withHeader("If-Match", `"other"`)), 412, petcat.CodePreconditionFailed)
		wantError(t, patch(`{"name":"a"}`, withHeader("If-None-Match", etag)), 412, petcat.CodePreconditionFailed)
		wantStatus(t, patch(`{"name":"a"}`, withHeader("If-Match", etag)), 200)
	})
	t.Run("415", func(t *testing.T) {
		a := s.do("PATCH", "/v1/categories/1", strings.NewReader(`{}`), withKey(key), withHeader("Content-Type", "application/json-patch+json"))
		wantError(t, a, 415, petcat.CodeUnsupportedMediaType)
		wantHeader(t, a, "Accept-Patch", "application/merge-patch+json, application/json")
		wantMessage(t, a, "Content-Type: application/merge-patch+json")
	})
}
