package httpapi_test

import (
	"testing"
	"time"

	"petcat"
)

func TestGetPetByID(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	other, _ := s.key(s.account("other", petcat.Pro))
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), 201)
	first := s.post("/v1/pets", `{"name":"Rex","category_id":1}`, withKey(key))
	second := s.post("/v1/pets", `{"name":"Tom","category_id":1}`, withKey(key))
	get := func(id string) *answer {
		t.Helper()
		return s.do("GET", "/v1/pets/"+id, nil, withKey(key))
	}
	wantDeprecated := func(t *testing.T, a *answer) {
		t.Helper()
		wantHeader(t, a, "Deprecation", "@1795305600") // 2026-11-22
		wantHeader(t, a, "Sunset", "Tue, 30 Nov 2027 00:00:00 GMT")
		wantHeader(t, a, "X-Stability", "experimental")
		wantHeader(t, a, "Link", `</docs#deprecation>; rel="deprecation"; type="text/html", </docs#deprecation>; rel="sunset"; type="text/html"`)
	}

	t.Run("200", func(t *testing.T) {
		for id, created := range map[string]*answer{"1": first, "2": second, "%31": first} {
			a := get(id)
			wantStatus(t, a, 200)
			wantDeprecated(t, a)
			wantHeader(t, a, "Cache-Control", "no-store")
			if string(a.body) != string(created.body) {
				t.Errorf("%s: %s, created %s", id, a.body, created.body)
			}
		}
		wantStatus(t, s.do("GET", "/v1/pets/1", nil, withKey(other)), 200)
		head := s.do("HEAD", "/v1/pets/1", nil, withKey(key))
		wantStatus(t, head, 200)
		wantDeprecated(t, head)
	})
	t.Run("401", func(t *testing.T) {
		a := s.do("GET", "/v1/pets/1", nil)
		wantError(t, a, 401, petcat.CodeMissingAPIKey)
		wantHeader(t, a, "Sunset", "") // it is not known yet what was called
	})
	t.Run("404", func(t *testing.T) {
		for _, id := range []string{"3", "x"} {
			a := get(id)
			wantError(t, a, 404, petcat.CodeNotFound)
			wantDeprecated(t, a)
		}
	})
	t.Run("410 after the sunset", func(t *testing.T) {
		sunset := time.Date(2027, 11, 30, 0, 0, 0, 0, time.UTC)
		s.clock.Advance(sunset.Sub(s.clock.Read().Time()) - 1)
		wantStatus(t, get("1"), 200)
		s.clock.Advance(1)
		for _, id := range []string{"1", "3"} {
			a := get(id)
			wantError(t, a, 410, petcat.CodeOperationSunset)
			wantMessage(t, a, "getPetById ended on 2027-11-30; its description at /docs")
			wantDeprecated(t, a)
		}
		wantStatus(t, s.post("/v1/pets", `{"name":"Max","category_id":1}`, withKey(key)), 201)
	})
}
