package postgres

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

// TestBadCreateFailsAlone: if the server rejects one create of a group, the others are stored.
func TestBadCreateFailsAlone(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	dogs := create(t, s, "Dogs")
	// The domain validates everything, so the test adds constraints.
	server.Server(t).Execute(t, url, "ALTER TABLE categories ADD CHECK (name <> 'bad')")
	server.Server(t).Execute(t, url, "ALTER TABLE pets ADD CHECK (name <> 'bad')")
	for round, key := range []petcat.IdempotencyKey{"", "k"} {
		group := []*store.Create{
			{Account: 1, New: newCategory(t, "Cats"), Key: key},
			{Account: 1, New: newCategory(t, "bad")},
			{Account: 1, New: newPet(t, "Rex", dogs.ID)},
			{Account: 1, New: newPet(t, "bad", dogs.ID)},
			{Account: 1, New: newPet(t, "Max", dogs.ID+100)},
			{Account: 1, New: newCategory(t, "Birds")},
		}
		// The committer's goroutine is idle.
		if err := s.commit(group); err != nil {
			t.Fatalf("the group failed: %v", err)
		}
		for i, want := range []struct {
			id   int64
			code petcat.Code
		}{
			{id: int64(2 + 2*round)},
			{code: petcat.CodeInternalError},
			{id: int64(1 + round)},
			{code: petcat.CodeInternalError},
			{code: petcat.CodeInvalidField},
			{id: int64(3 + 2*round)},
		} {
			c := group[i]
			if got := petcat.CodeOf(c.Outcome); got != want.code {
				t.Errorf("create %d: %v, want the code %q", i, c.Outcome, want.code)
			}
			if want.code == "" && (c.ID != want.id || c.Replayed) {
				t.Errorf("create %d: %+v, want the id %d", i, c, want.id)
			}
		}
	}
	want := []string{"Dogs", "Cats", "Birds", "Cats", "Birds"}
	if diff := cmp.Diff(want, storetest.Names(t, s)); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}

func newPet(t testing.TB, name string, category petcat.CategoryID) petcat.NewPet {
	t.Helper()
	n, err := petcat.ParseNewPet(&name, &category)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWritesDuringTrial: while one write tries whether the database works again, other writes are
// rejected at once.
func TestWritesDuringTrial(t *testing.T) {
	now := clocktest.NewManual(time.Now())
	s := openAt(t, server.Database(t), Options{Clock: now})
	defer closeNow(t, s)
	c := create(t, s, "Dogs")
	s.writes.failed(errNoResponse)
	now.Advance(pause)
	if err := s.writes.enter(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first rejection must not leave an idempotency key in progress
		_, err := tryCreate(t.Context(), t, s, "Cats", "k")
		wantUnavailable(t, err)
	}
	wantUnavailable(t, s.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: c.ID, Account: 1}))
	if _, err := s.FindAccount(t.Context(), "acme"); petcat.CodeOf(err) != petcat.CodeNotFound {
		t.Errorf("a read during the trial: %v", err)
	}
	s.writes.responded()
	if _, err := tryCreate(t.Context(), t, s, "Cats", "k"); err != nil {
		t.Error(err)
	}
	if err := s.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: c.ID, Account: 1}); err != nil {
		t.Error(err)
	}
}
