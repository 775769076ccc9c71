package httpapi_test

import (
	"crypto/rand"
	"regexp"
	"strings"
	"testing"
	"time"

	"petcat"
)

func TestReadOnlyKey(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Pro)
	key, id := s.keyOn(account, petcat.KeyTerms{ReadOnly: true})
	full, _ := s.key(account)

	t.Run("200", func(t *testing.T) {
		wantStatus(t, s.list(withKey(key)), 200)
		wantStatus(t, s.do("HEAD", "/v1/categories", nil, withKey(key)), 200)
	})
	t.Run("304", func(t *testing.T) {
		etag := s.list(withKey(key)).Header.Get("ETag")
		wantStatus(t, s.list(withKey(key), withHeader("If-None-Match", etag)), 304)
	})
	t.Run("403 and nothing is created", func(t *testing.T) {
		a := s.create(`{"name":"dog"}`, withKey(key))
		wantError(t, a, 403, petcat.CodeForbidden)
		wantMessage(t, a, "this API key is read-only")
		wantHeader(t, a, "X-Stability", "stable")
		wantHeader(t, a, "WWW-Authenticate", "")
		if list := s.list(withKey(key)); string(list.body) != "[]" {
			t.Errorf("the list is %s", list.body)
		}
	})
	t.Run("403 counts, on the account's counts", func(t *testing.T) {
		before := s.list(withKey(full)).number(t, "X-RateLimit-Remaining")
		if got := s.create(`{"name":"dog"}`, withKey(key)).number(t, "X-RateLimit-Remaining"); got != before-1 {
			t.Errorf("%d requests remain after a 403, %d before it", got, before)
		}
	})
	t.Run("403 before the body is looked at", func(t *testing.T) {
		wantError(t, s.create(`{`, withKey(key)), 403, petcat.CodeForbidden)
		wantError(t, s.create(`{}`, withKey(key), withHeader("Content-Type", "text/plain")), 403, petcat.CodeForbidden)
		wantError(t, s.create(`{"name":"`+strings.Repeat("x", 1<<20)+`"}`, withKey(key)), 403, petcat.CodeForbidden)
	})
	t.Run("404 and 405 before 403", func(t *testing.T) {
		wantError(t, s.do("POST", "/v1/dogs", nil, withKey(key)), 404, petcat.CodeNotFound)
		wantError(t, s.do("PUT", "/v1/categories", nil, withKey(key)), 405, petcat.CodeMethodNotAllowed)
	})
	t.Run("403 for a repetition of what another key created", func(t *testing.T) {
		once := withHeader("Idempotency-Key", "once")
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(full), once), 201)
		wantError(t, s.create(`{"name":"dog"}`, withKey(key), once), 403, petcat.CodeForbidden)
	})
	// Whatever is added to the registry: what writes is refused, and nothing else.
	t.Run("403 for every operation that writes", func(t *testing.T) {
		for _, o := range petcat.Operations() {
			path := "/v1" + regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(o.Path, "1")
			a := s.do(o.Method, path, nil, withKey(key))
			if forbidden := a.StatusCode == 403; forbidden != (o.Method != "GET") {
				t.Errorf("%s: %d", o.ID, a.StatusCode)
			}
		}
	})
	t.Run("403 for its successor", func(t *testing.T) {
		g, err := petcat.GenerateKey(petcat.Production, rand.Reader)
		must(t, err)
		r, err := petcat.ParseRotation(id, time.Hour, g)
		must(t, err)
		_, err = s.store.RotateKey(t.Context(), "test", r)
		must(t, err)
		s.hear()
		for _, k := range []string{key, g.Secret.Reveal()} {
			wantStatus(t, s.list(withKey(k)), 200)
			wantError(t, s.create(`{"name":"dog"}`, withKey(k)), 403, petcat.CodeForbidden)
		}
	})
	t.Run("429 before 403", func(t *testing.T) {
		for range 300 {
			if s.list(withKey(full)).StatusCode == 429 {
				break
			}
		}
		wantError(t, s.create(`{"name":"dog"}`, withKey(key)), 429, petcat.CodeRateLimitExceeded)
	})
}
