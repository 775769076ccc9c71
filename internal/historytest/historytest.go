// Package historytest records what concurrent clients saw when they create and list
// categories, and checks that it is linearizable.
//
// It is for tests alone. It knows nothing of how a category is created or listed:
// the handler's, the store's and the cluster's tests each provide their own
// operations, and use the same check.
package historytest

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
)

// History is what the clients of one run saw. It is safe for concurrent use.
type History struct {
	ticks atomic.Int64 // a clock that tells what came before what

	mu         sync.Mutex
	operations []porcupine.Operation // guarded by mu
}

const (
	create = "create"
	list   = "list"
)

// Create records a create of a client, which returns the new id in decimal, or ""
// when it failed for a reason that the test has told.
func (h *History) Create(client int, do func() (id string)) { h.record(client, create, do) }

// List records a list of a client, which returns the ids that it shows, in its
// order, with a space between them.
func (h *History) List(client int, do func() (ids string)) { h.record(client, list, do) }

func (h *History) record(client int, input string, do func() string) {
	o := porcupine.Operation{ClientId: client, Input: input, Call: h.ticks.Add(1)}
	output := do()
	o.Output, o.Return = output, h.ticks.Add(1)
	if input == create && output == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
}

// Check fails the test when no order explains what the clients saw, or when the
// check itself is blind: when it also accepts the history with a category missing
// from a list that was asked for after the create was answered.
func (h *History) Check(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !porcupine.CheckOperations(model(), h.operations) {
		t.Error("no order explains what the clients saw")
	}
	broken, ok := withStaleList(h.operations)
	switch {
	case !ok:
		t.Error("the history has no list after a create: it shows nothing")
	case porcupine.CheckOperations(model(), broken):
		t.Error("the check does not see a stale list")
	}
}

// model is what callers may rely on: a create adds one category with an id that
// nobody had, a list shows exactly what was created, by id.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			// The state is the ids so far, ascending, as text: comparable and plain,
			// and the same for the same set however it came about.
			before := state.(string)
			if input == list {
				return output == before, before
			}
			known := strings.Fields(before)
			at, found := slices.BinarySearchFunc(known, output.(string), byNumber)
			return !found, strings.Join(slices.Insert(known, at, output.(string)), " ")
		},
	}
}

// byNumber compares numbers that are written without leading zeros.
func byNumber(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// withStaleList makes the list that was asked for last lack a category whose create had
// been answered before. It returns false when there is none.
func withStaleList(history []porcupine.Operation) (broken []porcupine.Operation, ok bool) {
	broken = slices.Clone(history)
	last := -1
	for i, o := range broken {
		if o.Input == list && (last < 0 || o.Call > broken[last].Call) {
			last = i
		}
	}
	if last < 0 {
		return nil, false
	}
	shown := strings.Fields(broken[last].Output.(string))
	for _, o := range history {
		if o.Input == create && o.Return < broken[last].Call {
			left := slices.DeleteFunc(slices.Clone(shown), func(id string) bool { return id == o.Output })
			broken[last].Output = strings.Join(left, " ")
			return broken, len(left) < len(shown)
		}
	}
	return nil, false
}
