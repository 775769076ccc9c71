// Package historytest records what concurrent clients saw when they create, change,
// delete, read and list categories, and checks that it is linearizable.
//
// It is for tests alone. It knows nothing of how a category is stored: the
// handler's, the store's and the cluster's tests each provide their own
// [Subject], and use the same clients and the same check.
package historytest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
)

// Item is a category as a client sees it. Its name has no space.
type Item struct {
	ID   int64
	Name string
}

// Subject is a server, as its clients use it. It is safe for concurrent use. What fails
// is for the subject to report: a history with a failure in it shows nothing.
type Subject interface {
	Create(name string) (id int64)
	Change(id int64, name string) (found bool)
	Delete(id int64) (found bool)
	Get(id int64) (name string, found bool)
	List() []Item
}

// History is what the clients of one run saw. The zero value is empty. It is safe for
// concurrent use.
type History struct {
	ticks atomic.Int64 // a clock that tells what came before what

	mu         sync.Mutex
	operations []porcupine.Operation // guarded by mu
	created    []int64               // guarded by mu
}

// Record has clients do so many things each, at once, and each at one subject after the
// other. Ids up to base were given out before, and are left alone. It logs its seed.
func Record(t testing.TB, clients, each int, base int64, subjects ...Subject) *History {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var h History
	var all sync.WaitGroup
	for c := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(c))) // #nosec G404 -- a test
		all.Go(func() {
			for i := range each {
				h.act(c, fmt.Sprintf("%d.%d", c, i), base, subjects[(c+i)%len(subjects)], random)
			}
		})
	}
	all.Wait()
	return &h
}

// act does one thing. Clients list and create most, and otherwise look for what somebody
// has created.
func (h *History) act(client int, name string, base int64, s Subject, random *rand.Rand) {
	id, some := h.pick(random)
	switch what := random.IntN(10); {
	case what < 3 || !some:
		h.Create(client, name, func() int64 { return s.Create(name) })
	case what < 6:
		h.List(client, func() []Item {
			return slices.DeleteFunc(s.List(), func(i Item) bool { return i.ID <= base })
		})
	case what < 8:
		h.Change(client, id, name, func() bool { return s.Change(id, name) })
	case what < 9:
		h.Get(client, id, func() (string, bool) { return s.Get(id) })
	default:
		h.Delete(client, id, func() bool { return s.Delete(id) })
	}
}

// pick returns an id that was given out, if there is one.
func (h *History) pick(random *rand.Rand) (id int64, some bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.created) == 0 {
		return 0, false
	}
	return h.created[random.IntN(len(h.created))], true
}

// input is what was asked for. The output is a text: the new id, the name, the items of
// a list, "" for what was not found.
type input struct {
	action string
	id     int64
	name   string
}

const (
	create  = "create"
	list    = "list"
	change  = "change"
	remove  = "delete"
	get     = "get"
	present = "found"
)

// Create records a create.
func (h *History) Create(client int, name string, do func() (id int64)) {
	h.record(client, input{action: create, name: name}, func() string {
		id := do()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.created = append(h.created, id)
		return strconv.FormatInt(id, 10)
	})
}

// List records a list.
func (h *History) List(client int, do func() []Item) {
	h.record(client, input{action: list}, func() string {
		var shown []string
		for _, i := range do() {
			shown = append(shown, item(i.ID, i.Name))
		}
		return strings.Join(shown, " ")
	})
}

// Change records a change of a name.
func (h *History) Change(client int, id int64, name string, do func() (found bool)) {
	h.record(client, input{change, id, name}, func() string { return foundText(do()) })
}

// Delete records a deletion.
func (h *History) Delete(client int, id int64, do func() (found bool)) {
	h.record(client, input{action: remove, id: id}, func() string { return foundText(do()) })
}

// Get records a read.
func (h *History) Get(client int, id int64, do func() (name string, found bool)) {
	h.record(client, input{action: get, id: id}, func() string {
		name, found := do()
		if !found {
			return ""
		}
		return item(id, name)
	})
}

func foundText(found bool) string {
	if found {
		return present
	}
	return ""
}

func (h *History) record(client int, in input, do func() string) {
	o := porcupine.Operation{ClientId: client, Input: in, Call: h.ticks.Add(1)}
	o.Output = do()
	o.Return = h.ticks.Add(1)
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
// nobody had, changes and deletions find what is there, and a list shows exactly what
// there is, by id.
func model() porcupine.Model {
	return porcupine.Model{
		// The state is the items, by id ascending, as text: comparable and plain. One
		// that was deleted has no name.
		Init: func() any { return "" },
		Step: func(state, in, output any) (bool, any) {
			i, all := in.(input), strings.Fields(state.(string))
			if i.action == list {
				all = slices.DeleteFunc(all, deleted)
				return output == strings.Join(all, " "), state
			}
			if i.action == create {
				i.id, _ = strconv.ParseInt(output.(string), 10, 64)
			}
			at, known := slices.BinarySearchFunc(all, i.id, func(item string, id int64) int { return cmp.Compare(idOf(item), id) })
			there := known && !deleted(all[at])
			switch i.action {
			case create:
				return !known, strings.Join(slices.Insert(all, at, item(i.id, i.name)), " ")
			case get:
				return there && output == all[at] || !there && output == "", state
			}
			if !there {
				return output == "", state
			}
			all[at] = item(i.id, i.name) // a deletion has no name
			return output == present, strings.Join(all, " ")
		},
	}
}

func item(id int64, name string) string { return strconv.FormatInt(id, 10) + ":" + name }

func deleted(item string) bool { return strings.HasSuffix(item, ":") }

func idOf(item string) int64 {
	text, _, _ := strings.Cut(item, ":")
	id, _ := strconv.ParseInt(text, 10, 64)
	return id
}

// withStaleList makes the list that was asked for last lack a category whose create had
// been answered before. It returns false when there is none.
func withStaleList(history []porcupine.Operation) (broken []porcupine.Operation, ok bool) {
	broken = slices.Clone(history)
	last := -1
	for i, o := range broken {
		if o.Input.(input).action == list && (last < 0 || o.Call > broken[last].Call) {
			last = i
		}
	}
	if last < 0 {
		return nil, false
	}
	shown := strings.Fields(broken[last].Output.(string))
	for _, o := range history {
		if o.Input.(input).action != create || o.Return > broken[last].Call || deletedLater(history, o.Output.(string)) {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(shown), func(item string) bool { return strings.HasPrefix(item, o.Output.(string)+":") })
		broken[last].Output = strings.Join(left, " ")
		return broken, len(left) < len(shown)
	}
	return nil, false
}

// deletedLater reports whether somebody deleted a category: a list may lack it.
func deletedLater(history []porcupine.Operation, id string) bool {
	return slices.ContainsFunc(history, func(o porcupine.Operation) bool {
		in := o.Input.(input)
		return in.action == remove && strconv.FormatInt(in.id, 10) == id
	})
}
