package petcat_test

import (
	"slices"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestRegistryIsSound(t *testing.T) {
	notice := map[petcat.Stability]time.Duration{petcat.Stable: 180 * 24 * time.Hour, petcat.Beta: 30 * 24 * time.Hour}
	names, places := map[petcat.OperationID]bool{}, map[string]bool{}
	for _, o := range petcat.Operations() {
		place := o.Method + " " + o.Path
		if names[o.ID] || places[place] {
			t.Errorf("%s at %s is registered twice", o.ID, place)
		}
		names[o.ID], places[place] = true, true
		if o.SunsetAt.IsZero() {
			continue
		}
		if !o.Deprecated() || o.SunsetAt.Sub(o.DeprecatedAt) < notice[o.Stability] {
			t.Errorf("the notice of %s is shorter than %s", o.ID, notice[o.Stability])
		}
		if !o.SunsetAt.Equal(o.SunsetAt.UTC().Truncate(24 * time.Hour)) { // the document gives the day alone
			t.Errorf("%s ends at %s, not at the beginning of a UTC day", o.ID, o.SunsetAt)
		}
	}
	for _, contract := range []petcat.Operation{
		{ID: "listCategories", Method: "GET", Path: "/categories", Stability: "stable"},
		{ID: "createCategory", Method: "POST", Path: "/categories", Stability: "stable"},
	} {
		same := func(o petcat.Operation) bool {
			return o.ID == contract.ID && o.Method == contract.Method && o.Path == contract.Path &&
				o.Stability == contract.Stability && !o.Deprecated()
		}
		if !slices.ContainsFunc(petcat.Operations(), same) {
			t.Errorf("%s is missing, or differs from the contract", contract.ID)
		}
	}
}
