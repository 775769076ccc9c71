package postgres

import (
	"testing"
	"time"

	"petcat"
	"petcat/internal/clocktest"
	"petcat/internal/store"
	"petcat/internal/storetest"
)

func TestBadCreateFailsAlone(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	// The domain validates everything, so the test adds a constraint.
	server.Server(t).Execute(t, url, "ALTER TABLE categories ADD CHECK (name <> 'bad')")
	good := func(name string, key petcat.IdempotencyKey) *store.Create {
		return &store.Create{CreateCategory: petcat.CreateCategory{Account: 1, New: newCategory(t, name), IdempotencyKey: key}}
	}
	for _, keyed := range []petcat.IdempotencyKey{"", "k"} {
		before := len(storetest.Names(t, s))
		group := []*store.Create{good("Dogs", keyed), good("bad", ""), good("Cats", "")}
		// The committer's goroutine is idle.
		if err := s.commit(group); err != nil {
			t.Fatalf("the group failed: %v", err)
		}
		if petcat.CodeOf(group[1].Outcome) != petcat.CodeInternalError {
			t.Errorf("the bad create: %v", group[1].Outcome)
		}
		for i, want := range map[int]petcat.CategoryID{0: petcat.CategoryID(before + 1), 2: petcat.CategoryID(before + 2)} {
			if o := group[i]; o.Outcome != nil || o.Created.Replayed || o.Created.Category.ID != want {
				t.Errorf("write %d: %+v, %v, want category %d", i, o.Created, o.Outcome, want)
			}
		}
	}
}

// TestWritesDuringTrial: while one write tries whether the database works again, other writes are
// refused at once.
func TestWritesDuringTrial(t *testing.T) {
	now := clocktest.NewManual(time.Now())
	s := openAt(t, server.Database(t), Options{Clock: now})
	defer closeNow(t, s)
	c := create(t, s, "Dogs")
	s.writes.failed(errNoAnswer)
	now.Advance(pause)
	if err := s.writes.enter(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first refusal leaves no idempotency key in progress
		_, err := tryCreate(t.Context(), t, s, "Cats", "k")
		wantUnavailable(t, err)
	}
	wantUnavailable(t, s.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: c.ID, Account: 1}))
	if _, err := s.FindAccount(t.Context(), "acme"); petcat.CodeOf(err) != petcat.CodeNotFound {
		t.Errorf("a read during the trial: %v", err)
	}
	s.writes.answered()
	if _, err := tryCreate(t.Context(), t, s, "Cats", "k"); err != nil {
		t.Error(err)
	}
	if err := s.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: c.ID, Account: 1}); err != nil {
		t.Error(err)
	}
}
