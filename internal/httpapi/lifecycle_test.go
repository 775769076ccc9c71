package httpapi_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"petcat"
	"petcat/internal/apicheck"
	"petcat/internal/httpapi"
)

// lifecycleHeaders are those of a deprecated operation alone.
func lifecycleHeaders() []string { return []string{"Deprecation", "Sunset", "Link"} }

// withOperations has the API offer these operations, in place of the registry's.
func withOperations(operations ...petcat.Operation) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.Operations = operations }
}

// ending returns the operations of categories, of which the list is deprecated.
func ending(stability petcat.Stability, deprecated, sunset time.Time) func(*httpapi.Options) {
	return withOperations(
		petcat.Operation{ID: petcat.OpListCategories, Method: "GET", Path: "/categories", Stability: stability, DeprecatedAt: deprecated, SunsetAt: sunset},
		petcat.Operation{ID: petcat.OpCreateCategory, Method: "POST", Path: "/categories", Stability: petcat.Stable},
	)
}

// wantNoLifecycle checks that an answer does not tell of a deprecation.
func wantNoLifecycle(t *testing.T, a *answer) {
	t.Helper()
	for _, name := range lifecycleHeaders() {
		if values := a.Header.Values(name); len(values) > 0 {
			t.Errorf("%d has %s: %q", a.StatusCode, name, values)
		}
	}
}

var (
	deprecated = time.Date(2026, 1, 1, 9, 30, 0, 0, time.UTC)
	sunset     = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
)

func TestLifecycleHeaders(t *testing.T) {
	const (
		about  = `</docs#deprecation>; rel="deprecation"; type="text/html"`
		ending = about + `, </docs#deprecation>; rel="sunset"; type="text/html"`
		at     = "@1767259800"
	)
	for _, c := range []struct {
		name string
		o    petcat.Operation
		want map[string]string
	}{
		{"stable", petcat.Operation{Stability: petcat.Stable}, map[string]string{"X-Stability": "stable"}},
		{"beta", petcat.Operation{Stability: petcat.Beta}, map[string]string{"X-Stability": "beta"}},
		{"experimental", petcat.Operation{Stability: petcat.Experimental}, map[string]string{"X-Stability": "experimental"}},
		{
			"deprecated, no end planned",
			petcat.Operation{Stability: petcat.Stable, DeprecatedAt: deprecated},
			map[string]string{"X-Stability": "stable", "Deprecation": at, "Link": about},
		},
		{
			"deprecated, with a sunset",
			petcat.Operation{Stability: petcat.Stable, DeprecatedAt: deprecated, SunsetAt: sunset},
			map[string]string{"X-Stability": "stable", "Deprecation": at, "Sunset": "Wed, 01 Jul 2026 00:00:00 GMT", "Link": ending},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.ID, c.o.Method, c.o.Path = petcat.OpListCategories, "GET", "/categories"
			s := start(t, withOperations(c.o))
			key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000, 10_000))
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				a := s.do(method, "/v1/categories", nil, withKey(key))
				wantStatus(t, a, 200)
				for _, name := range append(lifecycleHeaders(), "X-Stability") {
					wantHeader(t, a, name, c.want[name])
					if len(a.Header.Values(name)) > 1 {
						t.Errorf("%s is there more than once: %q", name, a.Header.Values(name))
					}
				}
			}
		})
	}
}

// The answers of the operation itself tell that it is deprecated, whatever they are;
// those that are given before it is known do not.
func TestLifecycleOfEveryAnswer(t *testing.T) {
	s := start(t, ending(petcat.Stable, deprecated, sunset))
	key, _ := s.key(s.account("acme", petcat.Free))
	wantTold := func(a *answer, status int) {
		t.Helper()
		wantStatus(t, a, status)
		for _, name := range lifecycleHeaders() {
			if a.Header.Get(name) == "" {
				t.Errorf("%d has no %s", status, name)
			}
		}
	}
	list := s.list(withKey(key))
	wantTold(list, 200)
	wantTold(s.list(withKey(key), withHeader("If-None-Match", list.Header.Get("ETag"))), 304)
	wantTold(s.list(withKey(key), withHeader("If-Match", `"other"`)), 412)

	for name, a := range map[string]*answer{
		"another operation of the path": s.create(`{"name":"dog"}`, withKey(key)),
		"no key":                        s.list(),
		"a wrong key":                   s.list(withKey(key + "x")),
		"no such path":                  s.do("GET", "/v1/dogs", nil, withKey(key)),
		"no such method":                s.do("PUT", "/v1/categories", nil, withKey(key)),
	} {
		t.Run(name, func(t *testing.T) { wantNoLifecycle(t, a) })
	}
	for s.list(withKey(key)).StatusCode == 200 {
	}
	refused := s.list(withKey(key))
	wantError(t, refused, 429, petcat.CodeRateLimitExceeded)
	wantNoLifecycle(t, refused)
}

// plain leaves it to the test to check answers: no operation of the OpenAPI document has
// a 410 yet.
func (s *service) plain() {
	transport := &http.Transport{DisableCompression: true}
	s.t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: transport}
}

func TestSunset(t *testing.T) {
	end := noon.Add(time.Minute).Truncate(time.Second)
	gone := func(id petcat.OperationID, method string) petcat.Operation {
		return petcat.Operation{ID: id, Method: method, Path: "/categories", Stability: petcat.Beta, DeprecatedAt: deprecated, SunsetAt: end}
	}
	s := start(t, withOperations(
		gone(petcat.OpCreateCategory, "POST"),
		petcat.Operation{ID: petcat.OpListCategories, Method: "GET", Path: "/categories", Stability: petcat.Stable},
	))
	s.plain()
	key, _ := s.key(s.account("acme", petcat.Free))

	s.clock.Advance(time.Minute - 1)
	a := s.create(`{"name":"dog"}`, withKey(key))
	wantStatus(t, a, 201)
	wantHeader(t, a, "Sunset", "Sat, 14 Mar 2026 12:01:18 GMT")

	s.clock.Advance(1)
	for range 2 {
		before := a.number(t, "X-RateLimit-Remaining")
		a = s.create(`{"name":"cat"}`, withKey(key), withHeader("Idempotency-Key", "k"))
		wantError(t, a, 410, petcat.CodeOperationSunset)
		wantMessage(t, a, "createCategory ended on 2026-03-14; its description at /docs")
		now := s.clock.Read().Time().Unix()
		for _, problem := range apicheck.Problems(a.Response, a.body, now, now) {
			t.Errorf("410: %s", problem)
		}
		for _, name := range append(lifecycleHeaders(), "X-Stability") {
			if a.Header.Get(name) == "" {
				t.Errorf("410 has no %s", name)
			}
		}
		if left := a.number(t, "X-RateLimit-Remaining"); left != before-1 {
			t.Errorf("%d requests remain after a 410, %d before", left, before)
		}
	}
	wantError(t, s.create(`{`, withKey(key)), 410, petcat.CodeOperationSunset) // its body is not looked at
	wantError(t, s.create(`{"name":"cat"}`), 401, petcat.CodeMissingAPIKey)

	rest := s.list(withKey(key))
	wantStatus(t, rest, 200)
	wantNoLifecycle(t, rest)
	if string(rest.body) != `[{"id":1,"name":"dog"}]` {
		t.Errorf("after the sunset the list is %s", rest.body)
	}
}

// Who calls what is deprecated is on record, with its account, until nobody does.
func TestDeprecatedCallsAreRecorded(t *testing.T) {
	s := start(t, ending(petcat.Beta, deprecated, noon.Add(time.Hour)))
	s.plain()
	account := s.account("acme", petcat.Free)
	key, _ := s.key(account)
	s.list(withKey(key))
	s.create(`{"name":"dog"}`, withKey(key))
	s.list()
	s.do("GET", "/v1/dogs", nil, withKey(key))
	s.clock.Advance(time.Hour)
	s.list(withKey(key))

	s.mu.Lock()
	defer s.mu.Unlock()
	type call struct {
		Status     int
		Deprecated bool
		Account    petcat.AccountID
	}
	var got []call
	for _, r := range s.records {
		got = append(got, call{r.Status, r.Deprecated, r.Account})
	}
	want := []call{{200, true, account.ID}, {201, false, account.ID}, {401, false, 0}, {404, false, account.ID}, {410, true, account.ID}}
	if !slices.Equal(got, want) {
		t.Errorf("on record are %+v\nwant %+v", got, want)
	}
}
