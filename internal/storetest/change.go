package storetest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

func testChanges(t *testing.T, open Open) {
	t.Run("each category once, in its last state", func(t *testing.T) { testLastStates(t, open) })
	t.Run("a copy equals the list while others write", func(t *testing.T) { testCopies(t, open) })
	t.Run("deletions are kept for 30 days", func(t *testing.T) { testRemovedDeletions(t, open) })
}

// copied is a copy of all categories that only reads changes.
type copied struct {
	position   petcat.ChangePosition
	categories map[petcat.CategoryID]petcat.RevisedCategory
}

func newCopied() *copied {
	return &copied{categories: make(map[petcat.CategoryID]petcat.RevisedCategory)}
}

// read reads a page of changes. It returns whether there may be more.
func (c *copied) read(t *testing.T, s *store.Store, limit int) (more bool) {
	t.Helper()
	changes, err := s.CategoryChanges(t.Context(), petcat.ChangeQuery{ChangePosition: c.position, Limit: limit})
	if err != nil {
		t.Errorf("read changes: %v", err)
		return false
	}
	for _, change := range changes {
		if change.Revision <= c.position.After {
			t.Errorf("revision %d comes after %d", change.Revision, c.position.After)
		}
		c.position.After = change.Revision
		if change.Deleted {
			delete(c.categories, change.ID)
		} else {
			c.categories[change.ID] = change
		}
	}
	return len(changes) == limit
}

// wantList checks that a copy equals the list.
func (c *copied) wantList(t *testing.T, s *store.Store) {
	t.Helper()
	want := make(map[petcat.CategoryID]petcat.RevisedCategory)
	for _, category := range categories(t, s) {
		if !category.Deleted {
			want[category.ID] = category
		}
	}
	wantEqual(t, "the copy", want, c.categories)
}

func testLastStates(t *testing.T, open Open) {
	f := start(t, open)
	text := "secret"
	a, b := f.create(t, "a", &text), f.create(t, "b", nil)
	gone := f.create(t, "gone", nil)
	wantCode(t, f.remove(t, gone.ID), "")
	newest := f.byID(t)[gone.ID].Revision
	changes := func(p petcat.ChangePosition, listed petcat.Revision) []petcat.RevisedCategory {
		t.Helper()
		all, err := f.CategoryChanges(t.Context(), petcat.ChangeQuery{ChangePosition: p, Listed: listed, Limit: 9})
		return must(all, err)
	}
	first := petcat.RevisedCategory{Category: a, Revision: 1, Account: 1}
	second := petcat.RevisedCategory{Category: b, Revision: 2, Account: 1}
	third := petcat.RevisedCategory{
		Category: petcat.Category{ID: gone.ID},
		Revision: newest,
		Account:  1,
		Deleted:  true,
	}
	all := []petcat.RevisedCategory{first, second, third}
	wantEqual(t, "all", all, changes(petcat.ChangePosition{}, 0))
	wantEqual(t, "from the beginning", all[:2], changes(petcat.ChangePosition{Begun: newest}, 0))
	wantEqual(t, "after the first", all[1:], changes(petcat.ChangePosition{After: 1, Begun: 1}, 0))
	wantEqual(t, "at the end", nil, changes(petcat.ChangePosition{After: newest}, 0))
	first.Category = petcat.Category{ID: a.ID}
	wantEqual(t, "without listed texts", []petcat.RevisedCategory{first, second, third},
		changes(petcat.ChangePosition{}, 1))
	future := petcat.ChangeQuery{ChangePosition: petcat.ChangePosition{After: newest + 1}, Limit: 1}
	_, err := f.CategoryChanges(t.Context(), future)
	wantCode(t, err, petcat.CodeCursorExpired)
}

// testCopies: eight writers use two nodes. One copy reads all the time, and does not miss a change. Another
// one equals the list after each of its reads, during which the writers pause.
func testCopies(t *testing.T, open Open) {
	const writers, each = 8, 12
	f := start(t, open)
	nodes := []*store.Store{f.Store, f.another(t)}
	var pause sync.RWMutex
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for n := range each {
				pause.RLock()
				change(t, nodes[(w+n)%2], fmt.Sprintf("%d/%d", w, n), n%3)
				pause.RUnlock()
			}
		})
	}
	always, paused := newCopied(), newCopied()
	reading.Go(func() {
		for n := 0; !closed(done); n++ {
			always.read(t, nodes[n%2], 5)
		}
	})
	go func() {
		defer close(done)
		writing.Wait()
	}()
	compare := func(s *store.Store) {
		pause.Lock()
		defer pause.Unlock()
		for paused.read(t, s, 7) {
		}
		paused.wantList(t, s)
	}
	for n := 0; !closed(done); n++ {
		compare(nodes[n%2])
	}
	reading.Wait()
	for always.read(t, nodes[1], 5) {
	}
	wantEqual(t, "the number of categories", writers*each*2/3, len(always.categories))
	always.wantList(t, nodes[0])
}

// closed reports whether a channel is closed.
func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// change creates a category, and changes it if then is 1, or deletes it if then is 2.
func change(t *testing.T, s *store.Store, name string, then int) {
	t.Helper()
	created, err := s.CreateCategory(t.Context(), petcat.CreateCategory{
		Account: 1,
		New:     category(t, name, nil),
	})
	id := created.Category.ID
	switch {
	case err != nil:
	case then == 1:
		name += "!"
		update := petcat.UpdateCategory{ID: id, Account: 1, Patch: patch(t, &name, nil, false)}
		_, err = s.UpdateCategory(t.Context(), update)
	case then == 2:
		err = s.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: id, Account: 1})
	}
	if err != nil {
		t.Errorf("change: %v", err)
	}
}

// testRemovedDeletions: a reader that needs a removed deletion begins again, and only such a reader.
func testRemovedDeletions(t *testing.T, open Open) {
	f := start(t, open)
	first, second, kept := f.create(t, "a", nil), f.create(t, "b", nil), f.create(t, "c", nil)
	other := f.another(t)
	wantCode(t, f.remove(t, first.ID), "")  // revision 4
	wantCode(t, f.remove(t, second.ID), "") // revision 5
	name := "d"
	f.update(t, petcat.UpdateCategory{ID: kept.ID, Account: 1, Patch: patch(t, &name, nil, false)})
	ask := func(after, begun petcat.Revision) error {
		position := petcat.ChangePosition{After: after, Begun: begun}
		_, err := other.CategoryChanges(t.Context(), petcat.ChangeQuery{ChangePosition: position, Limit: 9})
		return err
	}
	f.clock.Advance(petcat.DeletionRetention - time.Millisecond)
	f.clean(t)
	wantCode(t, ask(3, 3), "")
	f.clock.Advance(time.Millisecond)
	f.clean(t)
	wantEqual(t, "the categories", []petcat.CategoryID{kept.ID}, slices.Collect(maps.Keys(f.byID(t))))
	wantCode(t, ask(4, 0), petcat.CodeCursorExpired)
	wantCode(t, ask(5, 0), "")
	wantCode(t, ask(0, 6), "") // it began after the deletions
	wantCode(t, ask(0, 4), petcat.CodeCursorExpired)
	wantCode(t, f.remove(t, kept.ID), "")
	f.clock.Advance(petcat.DeletionRetention)
	f.clean(t)
	wantCode(t, ask(6, 6), "") // the newest deletion is kept
}
