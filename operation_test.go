package petcat_test

import (
	"strings"
	"testing"
	"time"

	"petcat"
)

func TestOperations(t *testing.T) {
	names, places := map[petcat.OperationID]bool{}, map[string]bool{}
	for _, o := range petcat.Operations() {
		place := o.Method + " " + o.Path
		if names[o.ID] || places[place] {
			t.Errorf("%s at %s is there twice", o.ID, place)
		}
		names[o.ID], places[place] = true, true
		if !strings.HasPrefix(o.Path, "/") || strings.ToUpper(o.Method) != o.Method {
			t.Errorf("%s is at %s", o.ID, place)
		}
		if !o.SunsetAt.IsZero() && (o.DeprecatedAt.IsZero() || o.SunsetAt.Sub(o.DeprecatedAt) < o.Stability.Notice()) {
			t.Errorf("%s ends with less notice than %s", o.ID, o.Stability.Notice())
		}
		switch o.Stability {
		case petcat.Stable, petcat.Beta, petcat.Experimental:
		default:
			t.Errorf("%s has the stability %q", o.ID, o.Stability)
		}
	}
	for _, contract := range []petcat.Operation{
		{ID: "listCategories", Method: "GET", Path: "/categories", Stability: "stable"},
		{ID: "createCategory", Method: "POST", Path: "/categories", Stability: "stable"},
	} {
		if !names[contract.ID] || !places[contract.Method+" "+contract.Path] {
			t.Errorf("%s is missing", contract.ID)
		}
	}
}

func TestOperationWrites(t *testing.T) {
	for method, want := range map[string]bool{"GET": false, "POST": true, "PUT": true, "PATCH": true, "DELETE": true} {
		if got := (petcat.Operation{Method: method}).Writes(); got != want {
			t.Errorf("%s writes: %v, want %v", method, got, want)
		}
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
