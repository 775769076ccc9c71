package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// TestSharedCommit: callers that wait for the writer share one commit with the caller that has it. A
// transaction that is rolled back has no effect, and the others are committed.
func TestSharedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var commits []int
		observed := func(n int, _ time.Duration) { commits = append(commits, n) }
		s := openAt(t, t.TempDir(), Options{CommitObserved: observed})
		defer closeNow(t, s)
		first, err := s.Begin(t.Context(), store.Work{Doing: "first"})
		if err != nil {
			t.Fatal(err)
		}
		var waiting sync.WaitGroup
		name := func(name string, then error) {
			waiting.Go(func() {
				err := s.Change(t.Context(), name, func(tx *store.Tx) error {
					if _, err := tx.Exec(`INSERT INTO meta (name, value) VALUES ($1, '')`, name); err != nil {
						return err
					}
					return then
				})
				if !errors.Is(err, then) {
					t.Errorf("%s: got %v, want %v", name, err, then)
				}
			})
		}
		wrong := errors.New("wrong")
		name("test one", nil)
		name("test two", wrong)
		name("test three", nil)
		synctest.Wait()
		if _, err := first.Exec(`INSERT INTO meta (name, value) VALUES ('test first', '')`); err != nil {
			t.Error(err)
		}
		if err := first.Commit(); err != nil {
			t.Error(err)
		}
		waiting.Wait()
		var names []string
		err = s.Read(t.Context(), "read", func(q store.Querier) error {
			return q.Query(func(row store.Scan) error {
				var name string
				err := row(&name)
				names = append(names, name)
				return err
			}, `SELECT name FROM meta WHERE name LIKE 'test%' ORDER BY name`)
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"test first", "test one", "test three"}, names); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{3}, commits); diff != "" {
			t.Errorf("transactions in each commit (-want +got):\n%s", diff)
		}
	})
}

// TestResponsesAreDurable: a replay and a rejection depend on changes of the same commit, so they are
// only returned after it.
func TestResponsesAreDurable(t *testing.T) {
	free, err := petcat.ParseSubscription("free", petcat.Quota{}, petcat.Storage{})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(ctx context.Context, s *stored) error{
		"replay": func(ctx context.Context, s *stored) error {
			by := petcat.Author{Actor: "cli:test", Key: "k", Request: "r"}
			_, err := s.CreateAccount(ctx, by, petcat.NewAccount{Name: "acme", Subscription: free})
			return err
		},
		"rejection": func(ctx context.Context, s *stored) error {
			return s.DeleteCategory(ctx, petcat.DeleteCategory{ID: 1, By: "cli:test"})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			s := openAt(t, dir, Options{})
			defer func() { _ = s.Close() }()
			create(t, s, "Dogs")
			first, err := s.Begin(t.Context(), store.Work{Doing: "hold the writer"})
			if err != nil {
				t.Fatal(err)
			}
			var callers sync.WaitGroup
			for range 2 {
				callers.Go(func() {
					if err := call(t.Context(), s); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
						t.Errorf("%s: the change was not committed, and a caller got %v", name, err)
					}
				})
			}
			synctest.Wait()
			path := filepath.Join(dir, database)
			if err := os.Rename(path, path+".old"); err != nil { // the commit notices it
				t.Fatal(err)
			}
			_ = first.Rollback()
			callers.Wait()
		})
	}
}

// TestBadCreateFailsAlone: if the database rejects a create, the other creates of its group and the
// changes that share its commit succeed.
func TestBadCreateFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := openAt(t, dir, Options{})
		defer closeNow(t, s)
		execute(t, filepath.Join(dir, database), `CREATE TRIGGER reject BEFORE INSERT ON categories
			WHEN new.name = 'Bad' BEGIN SELECT RAISE(ABORT, 'bad row'); END`)
		first, err := s.Begin(t.Context(), store.Work{Doing: "hold the writer"})
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		callers.Go(func() {
			if err := s.SetSharedText(t.Context(), "test", "x"); err != nil {
				t.Errorf("a change: %v", err)
			}
		})
		synctest.Wait()
		for _, name := range []string{"Good", "Bad", "Better"} {
			callers.Go(func() {
				_, err := tryCreate(t.Context(), t, s, name, "")
				if failed := err != nil; failed != (name == "Bad") {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		synctest.Wait()
		_ = first.Rollback()
		callers.Wait()
	})
}

// TestEndedTransaction: after its end, a transaction does not run statements, because another caller may
// have the connection.
func TestEndedTransaction(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	tx, err := s.Begin(t.Context(), store.Work{Doing: "end"})
	if err != nil {
		t.Fatal(err)
	}
	_ = tx.Rollback()
	if err := tx.Run(`INSERT INTO meta (name, value) VALUES ('late', '')`); err == nil {
		t.Error("a statement ran after the rollback")
	}
}

// TestCallerLeavesBeforeBegin: if a caller is canceled while it waits for the writer, its change is
// certainly not made, and other callers continue.
func TestCallerLeavesBeforeBegin(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	first, err := s.Begin(t.Context(), store.Work{Doing: "first"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Rollback() }()
	left, leave := context.WithCancel(t.Context())
	leave()
	_, err = s.Begin(left, store.Work{Doing: "left"})
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable || errors.Is(err, petcat.ErrOutcomeUnknown) {
		t.Errorf("the caller that left: %v", err)
	}
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := first.Commit(); err == nil {
		t.Error("a second commit succeeded")
	}
	create(t, s, "Dogs")
}

// TestEndedCallerGetsNoWriter: a canceled caller does not get the writer, even if it is free, and leaves
// the line.
func TestEndedCallerGetsNoWriter(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	left, leave := context.WithCancel(t.Context())
	leave()
	for range 100 { // a select would choose at random
		if tx, err := s.Begin(left, store.Work{Doing: "left"}); err == nil {
			_ = tx.Rollback()
			t.Fatal("a transaction began")
		}
	}
	if n := s.Stats().Waiting; n != 0 {
		t.Errorf("%d writes wait", n)
	}
}

// TestRollbackReleasesFile: after a rollback, other processes can write.
func TestRollbackReleasesFile(t *testing.T) {
	dir := t.TempDir()
	s, other := openAt(t, dir, Options{}), openAt(t, dir, Options{})
	defer closeNow(t, s)
	defer closeNow(t, other)
	wrong := errors.New("wrong")
	if err := s.Change(t.Context(), "fail", func(*store.Tx) error { return wrong }); !errors.Is(err, wrong) {
		t.Fatal(err)
	}
	other.writer.tries = 1
	create(t, other, "Dogs")
}

// TestPanicReleasesWriter: an operation that panics rolls back and gives the writer to the next
// caller.
func TestPanicReleasesWriter(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	func() {
		defer func() { _ = recover() }()
		_ = s.Change(t.Context(), "panic", func(*store.Tx) error { panic("a bug") })
	}()
	create(t, s, "Dogs")
}

// TestAccessChangeInSharedCommit: only the caller that changed access is notified, not the callers whose
// transactions share its commit.
func TestAccessChangeInSharedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openAt(t, t.TempDir(), Options{})
		defer closeNow(t, s)
		changes := 0
		s.OnAccessChange(func(context.Context) { changes++ })
		first, err := s.Begin(t.Context(), store.Work{Doing: "first"})
		if err != nil {
			t.Fatal(err)
		}
		subscription, err := petcat.ParseSubscription("free", petcat.Quota{}, petcat.Storage{})
		if err != nil {
			t.Fatal(err)
		}
		var waiting sync.WaitGroup
		for _, write := range []func() error{
			func() error {
				_, err := s.CreateAccount(t.Context(), petcat.By("cli:ada"), petcat.NewAccount{
					Name:         "zoo",
					Subscription: subscription,
				})
				return err
			},
			func() error { return s.SetSharedText(t.Context(), "test", "a write without the counter row") },
			func() error {
				return s.Change(t.Context(), "another change", func(tx *store.Tx) error {
					return tx.Run(`INSERT INTO meta (name, value) VALUES ('another', '')`)
				})
			},
		} {
			waiting.Go(func() {
				if err := write(); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // they get the writer in this order
		}
		_ = first.Rollback()
		waiting.Wait()
		if changes != 1 {
			t.Errorf("%d changes of access were announced, want 1", changes)
		}
	})
}
