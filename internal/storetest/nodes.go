package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/store"
)

// nodes opens several stores on the same new data.
func nodes(t *testing.T, open Open) [3]*store.Store {
	t.Helper()
	var all [3]*store.Store
	place, c := t.TempDir(), clocktest.NewManual(noon)
	for i := range all {
		all[i] = open(t, place, c)
	}
	return all
}

func testNodes(t *testing.T, open Open) {
	t.Run("the feed", func(t *testing.T) { testFeed(t, open) })
	t.Run("the feed of changes", func(t *testing.T) { testFeedOfChanges(t, open) })
	t.Run("the feed is complete", func(t *testing.T) { testFeedUnderLoad(t, open) })
}

func since(t *testing.T, s petcat.CategoryFeed, after petcat.Revision) (all []petcat.RevisedCategory) {
	t.Helper()
	err := s.CategoriesSince(t.Context(), after, func(c petcat.RevisedCategory) error {
		all = append(all, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func testFeed(t *testing.T, open Open) {
	all := nodes(t, open)
	writer, reader := all[0], all[1]
	if got := since(t, reader, 0); len(got) != 0 {
		t.Errorf("an empty store returned %v", got)
	}
	text := ""
	must(writer.CreateCategory(t.Context(), petcat.CreateCategory{
		Account: 1,
		New:     category(t, "Dogs", nil),
	}))
	must(writer.CreateCategory(t.Context(), petcat.CreateCategory{
		Account: 1,
		New:     category(t, "Cats", &text),
	}))
	both := since(t, reader, 0)
	wantEqual(t, "both", categories(t, writer), both)
	wantEqual(t, "after the first", both[1:], since(t, reader, both[0].Revision))
	// Account and key changes have revisions, but are not in the feed.
	f := &fixture{Store: writer, clock: clocktest.NewManual(noon)}
	f.account(t, "zoo")
	if got := since(t, reader, both[1].Revision); len(got) != 0 {
		t.Errorf("at the end of the feed: got %v", got)
	}

	enough, calls := errors.New("enough"), 0
	err := reader.CategoriesSince(t.Context(), 0, func(petcat.RevisedCategory) error {
		calls++
		return enough
	})
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("stopped with %v after %d, want %v after 1", err, calls, enough)
	}
}

// testFeedUnderLoad: while all nodes write categories and accounts, the feed returns all categories,
// once and in order.
func testFeedUnderLoad(t *testing.T, open Open) {
	all := nodes(t, open)
	const each = 30
	var acknowledged acknowledged
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	followed := make([][]petcat.RevisedCategory, len(all))
	for i, s := range all {
		for client := range 4 {
			writers.Go(func() {
				for n := range each {
					acknowledged.create(t, s, fmt.Sprintf("%d/%d/%d", i, client, n))
					if client > 0 || n%10 != 0 {
						continue
					}
					_, err := s.CreateAccount(t.Context(), petcat.By(operator), petcat.NewAccount{Name: petcat.AccountName(fmt.Sprintf(
						"zoo %d/%d", i, n)), Subscription: subscription(t, "free", 0, 0)})
					if err != nil {
						t.Errorf("create account: %v", err)
					}
				}
			})
		}
		readers.Go(func() { followed[i] = follow(t, s, done) })
	}
	writers.Wait()
	close(done)
	readers.Wait()
	want := acknowledged.wantStored(t, all[0], len(all)*4*each)
	for i := range all {
		wantEqual(t, "the changes that a node read", want, followed[i])
	}
}

// follow reads the feed repeatedly, and once more after done is closed.
func follow(t *testing.T, s petcat.CategoryFeed, done <-chan struct{}) (seen []petcat.RevisedCategory) {
	t.Helper()
	var after petcat.Revision
	for last := false; ; {
		err := s.CategoriesSince(context.WithoutCancel(t.Context()), after, func(c petcat.RevisedCategory) error {
			seen, after = append(seen, c), c.Revision
			return nil
		})
		if err != nil {
			t.Errorf("follow the feed: %v", err)
			return seen
		}
		if last {
			return seen
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
}
