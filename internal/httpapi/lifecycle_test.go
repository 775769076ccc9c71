package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"petcat"
	"petcat/internal/httpapi"
)

// lifecycleHeaders are those of a deprecated operation alone.
func lifecycleHeaders() []string { return []string{"Deprecation", "Sunset", "Link"} }

// withOperations has the API offer these operations, in place of the registry's.
func withOperations(operations ...petcat.Operation) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.Operations = operations }
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
