package httpapi_test

import (
	"regexp"
	"testing"

	"petcat"
)

func TestReadOnlyKey(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Pro)
	key, _ := s.keyOn(account, petcat.KeyTerms{ReadOnly: true})
	full, _ := s.key(account)

	t.Run("200", func(t *testing.T) {
		wantStatus(t, s.list(withKey(key)), 200)
		wantStatus(t, s.do("HEAD", "/v1/categories", nil, withKey(key)), 200)
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
}
