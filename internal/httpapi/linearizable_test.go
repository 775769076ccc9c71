package httpapi_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"petcat"
)

// categoriesModel is what callers may rely on: a create adds one category with
// an id that nobody had, a list shows exactly what was created.
var categoriesModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		// The state is the ids so far, ascending, as text: comparable and plain.
		before := state.(string)
		if input == "list" {
			return output == before, before
		}
		// Sorted, so that the same set is the same state however it came about.
		known := strings.Fields(before)
		at, found := slices.BinarySearchFunc(known, output.(string), byNumber)
		return !found, strings.Join(slices.Insert(known, at, output.(string)), " ")
	},
}

// byNumber compares numbers that are written without leading zeros.
func byNumber(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Creates and lists, as eight clients saw them, could have happened one after
// the other, in an order that respects who waited for whom.
func TestLinearizable(t *testing.T) {
	const histories, clients, each = 10, 8, 20
	for h := range histories {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			s := start(t)
			key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000_000, 1_000_000))
			var (
				mu      sync.Mutex
				history []porcupine.Operation
				ticks   atomic.Int64
				done    sync.WaitGroup
			)
			for c := range clients {
				done.Go(func() {
					for i := range each {
						o := porcupine.Operation{ClientId: c, Input: "create", Call: ticks.Add(1)}
						if (c+i)%2 == 0 {
							o.Input = "list"
							o.Output = ids(t, s.list(withKey(key)).body)
						} else {
							a := s.create(`{"name":"x"}`, withKey(key))
							o.Output = strings.TrimPrefix(a.Header.Get("Location"), "/v1/categories/")
						}
						o.Return = ticks.Add(1)
						mu.Lock()
						history = append(history, o)
						mu.Unlock()
					}
				})
			}
			done.Wait()
			if !porcupine.CheckOperations(categoriesModel, history) {
				t.Error("no order explains what the clients saw")
			}
			if porcupine.CheckOperations(categoriesModel, staleList(history)) {
				t.Error("the check does not see a stale list")
			}
		})
	}
}

// staleList makes the last list that shows anything show nothing.
func staleList(history []porcupine.Operation) []porcupine.Operation {
	broken := slices.Clone(history)
	for i := len(broken) - 1; i >= 0; i-- {
		if broken[i].Input == "list" && broken[i].Output != "" {
			broken[i].Output = ""
			break
		}
	}
	return broken
}

// ids returns the ids of a list, in its order, as text.
func ids(t *testing.T, body []byte) string {
	t.Helper()
	var list []struct{ ID json.Number }
	must(t, json.Unmarshal(body, &list))
	var all []string
	for _, c := range list {
		all = append(all, c.ID.String())
	}
	return strings.Join(all, " ")
}
