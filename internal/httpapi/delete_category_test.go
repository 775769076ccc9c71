package httpapi_test

import (
	"testing"

	"petcat"
)

func TestDeleteCategory(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	other, _ := s.key(s.account("other", petcat.Enterprise, 100_000, 1_000_000))
	for range 3 {
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	}
	remove := func(id, key string, changes ...request) *answer {
		return s.do("DELETE", "/v1/categories/"+id, nil, append(changes, withKey(key))...)
	}

	t.Run("403 of another account", func(t *testing.T) {
		wantError(t, remove("1", other), 403, petcat.CodeForbidden)
	})
	t.Run("412", func(t *testing.T) {
		etag := s.do("GET", "/v1/categories/1", nil, withKey(key)).Header.Get("ETag")
		wantError(t, remove("1", key, withHeader("If-Match", `"other"`)), 412, petcat.CodePreconditionFailed)
		wantError(t, remove("1", key, withHeader("If-None-Match", etag)), 412, petcat.CodePreconditionFailed)
	})
	t.Run("409", func(t *testing.T) {
		wantStatus(t, s.post("/v1/pets", `{"name":"Rex","category_id":2}`, withKey(other)), 201)
		a := remove("2", key)
		wantError(t, a, 409, petcat.CodeCategoryInUse)
		wantHeader(t, a, "Retry-After", "") // waiting does not help
		wantStatus(t, s.do("GET", "/v1/categories/2", nil, withKey(key)), 200)
	})
	t.Run("204", func(t *testing.T) {
		etag := s.do("GET", "/v1/categories/1", nil, withKey(key)).Header.Get("ETag")
		for id, condition := range map[string]string{"1": etag, "3": "*"} {
			a := remove(id, key, withHeader("If-Match", condition))
			wantStatus(t, a, 204)
			if len(a.body) != 0 || a.Header.Get("Content-Length") != "" || a.Header.Get("Content-Type") != "" {
				t.Errorf("%q, %v", a.body, a.Header)
			}
			wantHeader(t, a, "X-Stability", "beta")
			wantError(t, s.do("GET", "/v1/categories/"+id, nil, withKey(key)), 404, petcat.CodeNotFound)
		}
		if list := s.list(withKey(key)); string(list.body) != `[{"id":2,"name":"dog"}]` {
			t.Errorf("the list is %s", list.body)
		}
	})
	t.Run("404", func(t *testing.T) {
		for _, id := range []string{"1", "4", "x"} {
			wantError(t, remove(id, key), 404, petcat.CodeNotFound)
		}
	})
}
