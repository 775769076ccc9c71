package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// nodes opens several stores on the same fresh data.
func nodes(t *testing.T, open OpenShared) [3]SharedStore {
	t.Helper()
	var all [3]SharedStore
	place, c := t.TempDir(), clock.NewManual(noon)
	for i := range all {
		all[i] = open(t, place, c)
		t.Cleanup(func() { closeStore(t, all[i]) })
	}
	return all
}

func testNodes(t *testing.T, open OpenShared) {
	t.Run("parallel creates", func(t *testing.T) { testCreatesOnNodes(t, open) })
	t.Run("the feed", func(t *testing.T) { testFeed(t, open) })
	t.Run("the feed of changes", func(t *testing.T) { testFeedOfChanges(t, open) })
	t.Run("the feed skips nothing", func(t *testing.T) { testFeedUnderLoad(t, open) })
	t.Run("one idempotency key on all nodes at once", func(t *testing.T) { testKeyOnNodes(t, open) })
	t.Run("different requests with one idempotency key", func(t *testing.T) { testKeyReusedOnNodes(t, open) })
}

// testCreatesOnNodes: ids are unique and ascend with the revisions, whichever
// node gave them.
func testCreatesOnNodes(t *testing.T, open OpenShared) {
	all := nodes(t, open)
	const clients, each = 8, 20
	var done acknowledged
	var wg sync.WaitGroup
	for i, store := range all {
		for client := range clients {
			wg.Go(func() {
				for n := range each {
					done.create(t, store, fmt.Sprintf("%d/%d/%d", i, client, n))
				}
			})
		}
	}
	wg.Wait()
	done.wantStored(t, all[0], len(all)*clients*each)
}

func since(t *testing.T, s petcat.CategoryFeed, after petcat.Revision) ([]petcat.RevisedCategory, petcat.Revision) {
	t.Helper()
	var all []petcat.RevisedCategory
	seen, err := s.CategoriesSince(t.Context(), after, func(c petcat.RevisedCategory) error {
		all = append(all, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, seen
}

func testFeed(t *testing.T, open OpenShared) {
	all := nodes(t, open)
	writer, reader := all[0], all[1]
	if got, seen := since(t, reader, 0); len(got) != 0 || seen != 0 {
		t.Errorf("a fresh store tells of %v up to %d", got, seen)
	}
	text := ""
	must2(t)(writer.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: category(t, "Dogs", nil)}))
	must2(t)(writer.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: category(t, "Cats", &text)}))
	both, seen := since(t, reader, 0)
	wantEqual(t, "both", categories(t, writer), both)
	if last := both[len(both)-1].Revision; seen < last {
		t.Errorf("nothing is missing up to %d, and there was %d", seen, last)
	}
	second, again := since(t, reader, both[0].Revision)
	wantEqual(t, "after the first", both[1:], second)
	wantEqual(t, "up to", seen, again)
	// Changes of access have revisions too, and no place in the feed.
	f := &fixture{Store: writer, clock: clock.NewManual(noon)}
	f.account(t, "zoo")
	if got, upTo := since(t, reader, seen); len(got) != 0 || upTo < seen {
		t.Errorf("after everything: %v up to %d", got, upTo)
	}

	enough, told := errors.New("enough"), 0
	_, err := reader.CategoriesSince(t.Context(), 0, func(petcat.RevisedCategory) error {
		told++
		return enough
	})
	if !errors.Is(err, enough) || told != 1 {
		t.Errorf("stopped with %v after %d, want %v after 1", err, told, enough)
	}
}

// testFeedUnderLoad: who follows the feed while all nodes write, categories and
// changes of access, has seen everything in the end, once and in order.
func testFeedUnderLoad(t *testing.T, open OpenShared) {
	all := nodes(t, open)
	const each = 60
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	followed := make([][]petcat.RevisedCategory, len(all))
	for i, store := range all {
		for client := range 4 {
			writers.Go(func() {
				for n := range each {
					if _, err := store.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: category(t, "Dogs", nil)}); err != nil {
						t.Errorf("create: %v", err)
					}
					if client > 0 || n%20 != 0 {
						continue
					}
					a, err := petcat.ParseNewAccount(fmt.Sprintf("zoo %d/%d", i, n), subscription(t, "free", 0, 0))
					if err == nil {
						_, err = store.CreateAccount(t.Context(), operator, a)
					}
					if err != nil {
						t.Errorf("create account: %v", err)
					}
				}
			})
		}
		readers.Go(func() { followed[i] = follow(t, store, done) })
	}
	writers.Wait()
	close(done)
	readers.Wait()
	want := categories(t, all[0])
	wantEqual(t, "the number of categories", len(all)*4*each, len(want))
	for i := range all {
		wantEqual(t, "what a node heard", want, followed[i])
	}
}

// follow asks the feed again and again, and once more when done is closed.
func follow(t *testing.T, s petcat.CategoryFeed, done <-chan struct{}) (heard []petcat.RevisedCategory) {
	t.Helper()
	var after petcat.Revision
	for last := false; ; {
		var err error
		after, err = s.CategoriesSince(context.WithoutCancel(t.Context()), after, func(c petcat.RevisedCategory) error {
			heard = append(heard, c)
			return nil
		})
		if err != nil {
			t.Errorf("follow the feed: %v", err)
			return heard
		}
		if last {
			return heard
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
}

// createUntilAnswered repeats a create while another one runs, as callers are told
// to.
func createUntilAnswered(t *testing.T, s Store, key petcat.IdempotencyKey, n petcat.NewCategory) (petcat.CreatedCategory, error) {
	t.Helper()
	for {
		created, err := s.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: n, IdempotencyKey: key})
		if petcat.CodeOf(err) != petcat.CodeIdempotencyInProgress {
			return created, err
		}
		time.Sleep(time.Millisecond)
	}
}

func testKeyOnNodes(t *testing.T, open OpenShared) {
	all := nodes(t, open)
	const keys = 40
	ids := make([]map[petcat.CategoryID]int, keys)
	for k := range keys {
		ids[k] = make(map[petcat.CategoryID]int)
		var mu sync.Mutex
		fresh := 0
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i, store := range all {
			for range 3 {
				wg.Go(func() {
					<-begin
					created, err := createUntilAnswered(t, store, petcat.IdempotencyKey(fmt.Sprintf("k%d", k)), category(t, "Dogs", nil))
					if err != nil {
						t.Errorf("node %d: %v", i, err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					ids[k][created.Category.ID]++
					if !created.Replayed {
						fresh++
					}
				})
			}
			// Neighbours in the same groups, which must not suffer.
			wg.Go(func() {
				<-begin
				if _, err := store.CreateCategory(t.Context(), petcat.CreateCategory{Account: 2, New: category(t, "Cats", nil)}); err != nil {
					t.Errorf("a neighbour on node %d: %v", i, err)
				}
			})
		}
		close(begin)
		wg.Wait()
		if len(ids[k]) != 1 || fresh != 1 {
			t.Fatalf("key %d: categories %v, %d of them fresh; want one", k, ids[k], fresh)
		}
	}
	wantEqual(t, "the number of categories", keys*(1+len(all)), len(categories(t, all[0])))
}

func testKeyReusedOnNodes(t *testing.T, open OpenShared) {
	all := nodes(t, open)
	for k := range 20 {
		var mu sync.Mutex
		made, refused := 0, 0
		var wg sync.WaitGroup
		for i, store := range all {
			wg.Go(func() {
				_, err := createUntilAnswered(t, store, petcat.IdempotencyKey(fmt.Sprintf("k%d", k)), category(t, fmt.Sprintf("Dogs %d", i), nil))
				mu.Lock()
				defer mu.Unlock()
				switch petcat.CodeOf(err) {
				case "":
					made++
				case petcat.CodeIdempotencyKeyReused:
					refused++
				default:
					t.Errorf("node %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if made != 1 || refused != len(all)-1 {
			t.Fatalf("key %d: %d were made and %d refused", k, made, refused)
		}
	}
}
