package postgres

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"petcat/internal/catalog"
	"petcat/internal/clock"
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
		known := strings.Fields(before)
		at, found := slices.BinarySearchFunc(known, output.(string), byNumber)
		return !found, strings.Join(slices.Insert(known, at, output.(string)), " ")
	},
}

// byNumber compares numbers that are written without leading zeros.
func byNumber(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// node is what of a server creates and lists.
type node struct {
	*Store
	*catalog.Fresh
}

func openNode(t *testing.T, url string) node {
	t.Helper()
	s := openAt(t, url, Options{})
	f := catalog.NewFresh(t.Context(), catalog.New(s.Dataset()), catalog.FreshOptions{
		Feed: s, Clock: clock.NewSystem(), Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		f.Close()
		closeNow(t, s)
	})
	if err := f.Load(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return node{s, f}
}

func (n node) list(t *testing.T) string {
	t.Helper()
	snapshot, age, err := n.Current(t.Context())
	if err != nil || age != 0 {
		t.Errorf("list: %s old, %v", age, err)
		return ""
	}
	var list []struct{ ID json.Number }
	if err := json.Unmarshal(bytes.Join(snapshot.Representation(catalog.Identity).Parts, nil), &list); err != nil {
		t.Error(err)
	}
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID.String()
	}
	return strings.Join(ids, " ")
}

// Creates and lists on three nodes, as their clients saw them, could have happened
// one after the other on one, in an order that respects who waited for whom.
func TestLinearizable(t *testing.T) {
	const histories, clients, each = 12, 9, 16
	stale := 0
	for h := range histories {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			url := server.Server(t).Database(t)
			nodes := []node{openNode(t, url), openNode(t, url), openNode(t, url)}
			var (
				mu      sync.Mutex
				history []porcupine.Operation
				ticks   atomic.Int64
				done    sync.WaitGroup
			)
			for c := range clients {
				done.Go(func() {
					for i := range each {
						n := nodes[(c+i/2)%len(nodes)] // a list goes to another node than the create before it
						o := porcupine.Operation{ClientId: c, Input: "create", Call: ticks.Add(1)}
						if i%2 == 1 {
							o.Input, o.Output = "list", nodes[(c+i/2+1)%len(nodes)].list(t)
						} else {
							o.Output = strconv.FormatInt(int64(create(t, n.Store, "x").ID), 10)
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
			if !porcupine.CheckOperations(categoriesModel, lateList(history)) {
				stale++
			}
		})
	}
	if stale != histories {
		t.Errorf("the check sees a stale list in %d of %d histories", stale, histories)
	}
}

// lateList makes the last list lack its last category.
func lateList(history []porcupine.Operation) []porcupine.Operation {
	broken := slices.Clone(history)
	last := -1
	for i, o := range broken {
		if o.Input == "list" && o.Output != "" && (last < 0 || o.Call > broken[last].Call) {
			last = i
		}
	}
	ids := strings.Fields(broken[last].Output.(string))
	// One whose creation was answered before the list was asked for.
	for _, o := range history {
		if o.Input == "create" && o.Return < broken[last].Call {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == o.Output })
			break
		}
	}
	broken[last].Output = strings.Join(ids, " ")
	return broken
}
