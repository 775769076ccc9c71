package httpapi_test

import (
	"strings"
	"testing"

	"petcat"
)

func TestGetCategory(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	created := s.create(`{"name":"cat","description":"a\tb"}`, withKey(key))
	get := func(id string, changes ...request) *answer {
		return s.do("GET", "/v1/categories/"+id, nil, append(changes, withKey(key))...)
	}

	t.Run("200", func(t *testing.T) {
		a := s.do("GET", created.Header.Get("Location"), nil, withKey(key))
		wantStatus(t, a, 200)
		if string(a.body) != string(created.body) {
			t.Errorf("body %s, created %s", a.body, created.body)
		}
		wantHeader(t, a, "Content-Type", "application/json")
		wantHeader(t, a, "Cache-Control", "private, no-cache")
		wantHeader(t, a, "X-Stability", "beta")
	})
	t.Run("304", func(t *testing.T) {
		etag := get("1").Header.Get("ETag")
		if etag == "" || etag == get("2").Header.Get("ETag") || strings.HasPrefix(etag, "W/") {
			t.Errorf("the ETag is %s", etag)
		}
		a := get("1", withHeader("If-None-Match", etag))
		if a.StatusCode != 304 || len(a.body) != 0 || a.Header.Get("ETag") != etag {
			t.Errorf("%d, %q, %v", a.StatusCode, a.body, a.Header)
		}
		wantStatus(t, get("1", withHeader("If-None-Match", `"other"`)), 200)
	})
	t.Run("404", func(t *testing.T) {
		for _, id := range []string{"3", "0", "-1", "01", "+1", "1.0", "1e0", "x", "9007199254740992", "18446744073709551617", "1%20", "1/", "1/2", "%31%00", "{categoryId}"} {
			a := get(id)
			wantError(t, a, 404, petcat.CodeNotFound)
		}
		wantStatus(t, get("%31"), 200)
	})
	t.Run("412", func(t *testing.T) {
		wantError(t, get("1", withHeader("If-Match", `"other"`)), 412, petcat.CodePreconditionFailed)
		wantStatus(t, get("1", withHeader("If-Match", "*")), 200)
	})
}
