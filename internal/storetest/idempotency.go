package storetest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
)

func testIdempotency(t *testing.T, open Open) {
	create := func(f *fixture, account petcat.AccountID, key petcat.IdempotencyKey, n petcat.NewCategory) (petcat.CreatedCategory, error) {
		return f.CreateCategory(t.Context(), petcat.CreateCategory{Account: account, New: n, IdempotencyKey: key})
	}
	t.Run("a repetition is answered like the first", func(t *testing.T) {
		f := start(t, open)
		text := "good"
		n := category(t, "Dogs", &text)
		first, err := create(f, 1, "k", n)
		must(t, first, err)
		again, err := create(f, 1, "k", n)
		must(t, again, err)
		wantEqual(t, "the repetition", petcat.CreatedCategory{Category: first.Category, Replayed: true}, again)
		wantEqual(t, "the number of categories", 1, len(categories(t, f)))
	})
	t.Run("what may not be created now is still repeated", func(t *testing.T) {
		f := start(t, open)
		refused := func(key petcat.IdempotencyKey, n petcat.NewCategory) (petcat.CreatedCategory, error) {
			return f.CreateCategory(t.Context(), petcat.CreateCategory{
				Account: 1, New: n, IdempotencyKey: key, Refused: petcat.Errorf(petcat.CodePreconditionFailed, "not now"),
			})
		}
		dogs := category(t, "Dogs", nil)
		for _, key := range []petcat.IdempotencyKey{"", "k"} {
			_, err := refused(key, dogs)
			wantCode(t, err, petcat.CodePreconditionFailed)
		}
		wantEqual(t, "the number of categories", 0, len(categories(t, f)))
		first, err := create(f, 1, "k", dogs)
		must(t, first, err)
		again, err := refused("k", dogs)
		must(t, again, err)
		wantEqual(t, "the repetition", petcat.CreatedCategory{Category: first.Category, Replayed: true}, again)
		_, err = refused("k", category(t, "Cats", nil))
		wantCode(t, err, petcat.CodeIdempotencyKeyReused)
		wantEqual(t, "the number of categories", 1, len(categories(t, f)))
	})
	t.Run("another request under the same key is refused", func(t *testing.T) {
		f := start(t, open)
		must2(t)(create(f, 1, "k", category(t, "Dogs", nil)))
		empty := ""
		for _, other := range []petcat.NewCategory{category(t, "Cats", nil), category(t, "Dogs", &empty)} {
			_, err := create(f, 1, "k", other)
			wantCode(t, err, petcat.CodeIdempotencyKeyReused)
		}
		wantEqual(t, "the number of categories", 1, len(categories(t, f)))
	})
	t.Run("keys are an account's own, and exact", func(t *testing.T) {
		f := start(t, open)
		n := category(t, "Dogs", nil)
		long := petcat.IdempotencyKey(strings.Repeat("~", petcat.MaxIdempotencyKey))
		for account := range petcat.AccountID(2) {
			for _, key := range []petcat.IdempotencyKey{"k", "K", "k'", `"k"`, long} {
				created, err := create(f, account+1, key, n)
				must(t, created, err)
				wantEqual(t, "replayed", false, created.Replayed)
			}
		}
		wantEqual(t, "the number of categories", 10, len(categories(t, f)))
	})
	t.Run("64 at once make one category", func(t *testing.T) { testParallelRepetitions(t, open) })
	t.Run("a key is forgotten after 24 hours, not before", func(t *testing.T) {
		f := start(t, open)
		first, err := create(f, 1, "k", category(t, "Dogs", nil))
		must(t, first, err)
		f.clock.Advance(petcat.IdempotencyRetention - time.Millisecond)
		again, err := create(f, 1, "k", category(t, "Dogs", nil))
		must(t, again, err)
		wantEqual(t, "the repetition", first.Category, again.Category)
		f.clock.Advance(time.Millisecond)
		later, err := create(f, 1, "k", category(t, "Cats", nil))
		must(t, later, err)
		wantEqual(t, "the new request", petcat.CreatedCategory{Category: petcat.Category{ID: 2, Name: "Cats"}}, later)
		again, err = create(f, 1, "k", category(t, "Cats", nil))
		must(t, again, err)
		wantEqual(t, "the new request's repetition", petcat.CreatedCategory{Category: later.Category, Replayed: true}, again)
	})
	t.Run("a key is remembered by the data, not by the process", func(t *testing.T) {
		f := start(t, open)
		n := category(t, "Dogs", nil)
		first, err := create(f, 1, "k", n)
		must(t, first, err)
		closeStore(t, f.Store)
		f.Store = f.another(t)
		again, err := create(f, 1, "k", n)
		must(t, again, err)
		wantEqual(t, "the repetition", petcat.CreatedCategory{Category: first.Category, Replayed: true}, again)
	})
}

func testParallelRepetitions(t *testing.T, open Open) {
	f := start(t, open)
	n := category(t, "Dogs", nil)
	var mu sync.Mutex
	fresh, answers := 0, 0
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for {
				created, err := f.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: n, IdempotencyKey: "k"})
				if petcat.CodeOf(err) == petcat.CodeIdempotencyInProgress {
					time.Sleep(time.Millisecond) // a caller who is told to retry waits, too
					continue
				}
				mu.Lock()
				defer mu.Unlock()
				answers++
				if err != nil || created.Category.ID != 1 {
					t.Errorf("got category %d, error %v", created.Category.ID, err)
				}
				if !created.Replayed {
					fresh++
				}
				return
			}
		})
	}
	wg.Wait()
	wantEqual(t, "answers", 64, answers)
	wantEqual(t, "answers that were not replayed", 1, fresh)
	wantEqual(t, "the number of categories", 1, len(categories(t, f)))
}
