package petcat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"petcat"
)

func TestOperations(t *testing.T) {
	operations := petcat.Operations()
	for _, problem := range registryProblems(operations) {
		t.Error(problem)
	}
	for _, contract := range []petcat.Operation{
		{ID: "listCategories", Method: "GET", Path: "/categories", Stability: "stable"},
		{ID: "createCategory", Method: "POST", Path: "/categories", Stability: "stable"},
	} {
		if !slices.Contains(operations, contract) {
			t.Errorf("%s is missing, or is not as the contract has it", contract.ID)
		}
	}
}

// registryProblems returns what must not be in a registry.
func registryProblems(operations []petcat.Operation) []string {
	var found []string
	problem := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	names, places := map[petcat.OperationID]bool{}, map[string]bool{}
	for _, o := range operations {
		place := o.Method + " " + o.Path
		if names[o.ID] || places[place] {
			problem("%s at %s is there twice", o.ID, place)
		}
		names[o.ID], places[place] = true, true
		if !strings.HasPrefix(o.Path, "/") || strings.ToUpper(o.Method) != o.Method {
			problem("%s is at %s", o.ID, place)
		}
		switch o.Stability {
		case petcat.Stable, petcat.Beta, petcat.Experimental:
		default:
			problem("%s has the stability %q", o.ID, o.Stability)
		}
		if o.SunsetAt.IsZero() {
			continue
		}
		if !o.Deprecated() || o.SunsetAt.Sub(o.DeprecatedAt) < o.Stability.Notice() {
			problem("%s ends with less notice than %s", o.ID, o.Stability.Notice())
		}
		// The document gives the day alone.
		if o.SunsetAt.Location() != time.UTC || !o.SunsetAt.Equal(o.SunsetAt.Truncate(24*time.Hour)) {
			problem("%s does not end when a day begins in UTC, but at %s", o.ID, o.SunsetAt)
		}
	}
	return found
}

func TestRegistryProblems(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC) }
	ends := func(s petcat.Stability, deprecated, sunset time.Time) petcat.Operation {
		return petcat.Operation{ID: "a", Method: "GET", Path: "/a", Stability: s, DeprecatedAt: deprecated, SunsetAt: sunset}
	}
	var none time.Time
	for _, c := range []struct {
		name string
		o    petcat.Operation
		want string // part of the only problem; "" for none
	}{
		{"not deprecated", ends(petcat.Stable, none, none), ""},
		{"deprecated, no end planned", ends(petcat.Stable, day(0), none), ""},
		{"stable, 180 days", ends(petcat.Stable, day(0), day(180)), ""},
		{"stable, 179 days", ends(petcat.Stable, day(0), day(179)), "less notice than 4320h"},
		{"stable, a nanosecond short", ends(petcat.Stable, day(0).Add(1), day(180)), "less notice than 4320h"},
		{"beta, 30 days", ends(petcat.Beta, day(0), day(30)), ""},
		{"beta, 29 days", ends(petcat.Beta, day(0), day(29)), "less notice than 720h"},
		{"experimental, at once", ends(petcat.Experimental, day(0), day(0)), ""},
		{"experimental, before its deprecation", ends(petcat.Experimental, day(1), day(0)), "less notice than 0s"},
		{"ends and is not deprecated", ends(petcat.Experimental, none, day(0)), "less notice than 0s"},
		{"ends at noon", ends(petcat.Beta, day(0), day(40).Add(12*time.Hour)), "when a day begins"},
		{"ends on another clock", ends(petcat.Beta, day(0), day(40).In(time.FixedZone("east", 3600))), "when a day begins"},
		{"of a stability that does not exist", ends("alpha", none, none), `stability "alpha"`},
		{"method in lower case", petcat.Operation{ID: "a", Method: "get", Path: "/a", Stability: petcat.Stable}, "is at get /a"},
		{"path without its slash", petcat.Operation{ID: "a", Method: "GET", Path: "a", Stability: petcat.Stable}, "is at GET a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := registryProblems([]petcat.Operation{c.o})
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("problems %q, want %q", got, c.want)
			}
		})
	}
	one := ends(petcat.Stable, none, none)
	if got := registryProblems([]petcat.Operation{one, one}); len(got) != 1 {
		t.Errorf("an operation that is there twice: %q", got)
	}
}

func TestStabilityNotice(t *testing.T) {
	const day = 24 * time.Hour
	for s, want := range map[petcat.Stability]time.Duration{petcat.Stable: 180 * day, petcat.Beta: 30 * day, petcat.Experimental: 0} {
		if got := s.Notice(); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
}

func TestOperationSunset(t *testing.T) {
	planned := petcat.Operation{SunsetAt: noon}
	for _, c := range []struct {
		name string
		o    petcat.Operation
		at   time.Time
		want bool
	}{
		{"none planned", petcat.Operation{}, noon, false},
		{"before", planned, noon.Add(-1), false},
		{"at its moment", planned, noon, true},
		{"after", planned, noon.Add(time.Hour), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.o.Sunset(c.at); got != c.want {
				t.Errorf("sunset %v, want %v", got, c.want)
			}
		})
	}
}

func TestOperationWrites(t *testing.T) {
	for method, want := range map[string]bool{"GET": false, "POST": true, "PUT": true, "PATCH": true, "DELETE": true} {
		if got := (petcat.Operation{Method: method}).Writes(); got != want {
			t.Errorf("%s writes: %v, want %v", method, got, want)
		}
	}
}
