package postgres

import (
	"fmt"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/pgtest"
	"petcat/internal/stalltest"
	"petcat/internal/store"
	"petcat/internal/storetest"
)

// A transaction elsewhere that keeps the counter's row holds creates up for a
// moment and not for ever.
func TestLockedCounter(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "BEGIN")
	pgtest.Execute(t, conn, "SELECT 1 FROM counter FOR UPDATE")
	control := stalltest.Start(t)
	control.Measure("refusing a create", 4*time.Second, func() {
		_, err := tryCreate(t.Context(), t, s, "during", "")
		wantUnavailable(t, err)
	})
	control.Measure("refusing a change", 4*time.Second, func() { wantUnavailable(t, s.SaveBan(t.Context(), petcat.Ban{Key: 1})) })
	if !s.Stats().Writable {
		t.Error("a lock counts as the database being away")
	}
	pgtest.Execute(t, conn, "ROLLBACK")
	create(t, s, "after")
	if got := storetest.Names(t, s); len(got) != 1 || got[0] != "after" {
		t.Errorf("categories %q", got)
	}
}

// Another node that writes the same idempotency key, and has not committed yet
// when the statement begins, is found all the same.
func TestKeyConflict(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	first := create(t, s, "Dogs")
	for name, fingerprint := range map[string][32]byte{"the same": newCategory(t, "Dogs").Fingerprint(), "another": newCategory(t, "Cats").Fingerprint()} {
		conn := pgtest.Connect(t, url)
		pgtest.Execute(t, conn, "BEGIN")
		pgtest.Execute(t, conn, "SELECT 1 FROM counter FOR UPDATE")
		if _, err := conn.Exec(t.Context(), "INSERT INTO idempotency (account_id, key, fingerprint, category_id, created_at) VALUES (1, $1, $2, $3, $4)",
			name, fingerprint[:], int64(first.ID), store.Now(s.clock).UnixMilli()); err != nil {
			t.Fatal(err)
		}
		var created petcat.CreatedCategory
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { created, err = tryCreate(t.Context(), t, s, "Dogs", petcat.IdempotencyKey(name)) })
		awaitLock(t, url)
		pgtest.Execute(t, conn, "COMMIT")
		wg.Wait()
		if name == "another" {
			if petcat.CodeOf(err) != petcat.CodeIdempotencyKeyReused {
				t.Errorf("%s request: %+v, %v", name, created, err)
			}
		} else if err != nil || !created.Replayed || created.Category.ID != first.ID {
			t.Errorf("%s request: %+v, %v", name, created, err)
		}
	}
	if got := storetest.Names(t, s); len(got) != 1 {
		t.Errorf("categories %q, want the first alone", got)
	}
	if next := create(t, s, "Birds"); next.ID != first.ID+1 {
		t.Errorf("the next id is %d", next.ID)
	}
}

// A create that waits for a table, which somebody changes, is refused by the server
// before its caller gives up: it is certain that nothing happened, and nothing
// happens later.
func TestCreateWaitsForATable(t *testing.T) {
	url := server.Database(t)
	address, _ := pgtest.StartPooler(t, url)
	control := stalltest.Start(t)
	for name, url := range map[string]string{"direct": url, "behind a pooler": pgtest.ByTCP(url, address)} {
		s := openAt(t, url, Options{})
		defer closeNow(t, s)
		for _, key := range []petcat.IdempotencyKey{"", "k"} {
			for _, table := range []string{"counter", "category"} {
				conn := pgtest.Connect(t, url)
				pgtest.Execute(t, conn, "BEGIN; LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
				what := fmt.Sprintf("%s, with key %q and without the table %s", name, key, table)
				control.InTime(what, writeTimeout-200*time.Millisecond, func() time.Duration {
					began := time.Now()
					_, err := tryCreate(t.Context(), t, s, "Dogs", key)
					if sqlState(err) != "55P03" {
						t.Errorf("%s: %v after %s; want it refused by the server, after 2 s", what, err, time.Since(began))
					}
					return time.Since(began)
				})
				pgtest.Execute(t, conn, "COMMIT")
			}
		}
		if got := storetest.Names(t, s); len(got) > 0 {
			t.Errorf("%s: categories %q, want none", name, got)
		}
	}
}

// A migration that takes its locks in the order that CONTRIBUTING.md tells meets no
// deadlock, whatever creates are under way and queue behind it.
func TestMigrationMeetsNoDeadlock(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	lock := regexp.MustCompile("`(LOCK TABLE [^`]+)`").FindSubmatch(text)
	if lock == nil {
		t.Fatal("CONTRIBUTING.md tells no order of locks")
	}
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	control := stalltest.Start(t)
	for _, keys := range [][2]petcat.IdempotencyKey{{"", ""}, {"k", "l"}} {
		if _, err := tryCreate(t.Context(), t, s, "Dogs", keys[0]); err != nil { // connects, and prepares the statement
			t.Fatal(err)
		}
		underway, migration, watcher := pgtest.Connect(t, url), pgtest.Connect(t, url), pgtest.Connect(t, url)
		pgtest.Execute(t, migration, "SET deadlock_timeout = '10ms'") // it would be ended, and be seen to be
		pgtest.Execute(t, underway, "BEGIN; UPDATE counter SET revision = revision; INSERT INTO category SELECT 1000000, 'x', NULL, 1000000, 1, 0 WHERE false")
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := migration.Exec(t.Context(), "BEGIN; "+string(lock[1])+"; COMMIT"); err != nil {
				t.Errorf("with key %q: the migration: %v", keys[1], err)
			}
		})
		awaitLock(t, url)
		wg.Go(func() {
			if _, err := tryCreate(t.Context(), t, s, "Dogs", keys[1]); err != nil {
				t.Errorf("with key %q: %v", keys[1], err)
			}
		})
		for waiting := 0; waiting < 2; {
			if err := watcher.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waiting); err != nil {
				t.Fatal(err)
			}
		}
		// Otherwise there was a deadlock, which the server notices after a second.
		control.Measure(fmt.Sprintf("the end, with key %q", keys[1]), 800*time.Millisecond, func() {
			pgtest.Execute(t, underway, "COMMIT")
			wg.Wait()
		})
	}
}

// Who changes the schema by hand, table by table, does not take the locks in the
// order in which creates do: one of the two has to begin again, and it is not the
// caller who does.
func TestCreateSurvivesADeadlock(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	for i, key := range []petcat.IdempotencyKey{"", "k"} {
		conn := pgtest.Connect(t, url)
		pgtest.Execute(t, conn, "SET deadlock_timeout = '1min'") // so that the server ends the other
		pgtest.Execute(t, conn, "BEGIN")
		pgtest.Execute(t, conn, "LOCK TABLE category IN ACCESS EXCLUSIVE MODE")
		var created petcat.CreatedCategory
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { created, err = tryCreate(t.Context(), t, s, "Dogs", key) })
		awaitLock(t, url)
		pgtest.Execute(t, conn, "LOCK TABLE counter IN ACCESS EXCLUSIVE MODE")
		pgtest.Execute(t, conn, "COMMIT")
		wg.Wait()
		if want := petcat.CategoryID(i + 1); err != nil || created.Category.ID != want || created.Replayed {
			t.Errorf("with key %q: %+v, %v; want id %d", key, created, err, want)
		}
	}
}

// awaitLock returns when somebody waits for a lock.
func awaitLock(t *testing.T, url string) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	for waiting := false; !waiting; {
		err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}
