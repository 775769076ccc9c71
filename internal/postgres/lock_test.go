package postgres

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

// TestIdempotencyKeyConflict: a create finds the same idempotency key of another node, even if that
// node has not committed when the statement begins.
func TestIdempotencyKeyConflict(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	first := create(t, s, "Dogs")
	for name, category := range map[string]string{"the same": "Dogs", "another": "Cats"} {
		fingerprint := newCategory(t, category).Fingerprint()
		conn := pgtest.Connect(t, url)
		pgtest.Execute(t, conn, "BEGIN")
		pgtest.Execute(t, conn, "SELECT 1 FROM counter FOR UPDATE")
		const insert = `INSERT INTO idempotency_keys (account_id, key, fingerprint, result_id) VALUES (1, $1, $2, $3)`
		if _, err := conn.Exec(t.Context(), insert, name, fingerprint[:], int64(first.ID)); err != nil {
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
		t.Errorf("categories %q, want only the first", got)
	}
	if next := create(t, s, "Birds"); next.ID != first.ID+1 {
		t.Errorf("the next id is %d", next.ID)
	}
}

// TestWriteWaitsForLock: the server rejects a write that waits for a lock before its caller times out,
// so the outcome is known.
func TestWriteWaitsForLock(t *testing.T) {
	url := server.Database(t)
	address, _ := pgtest.StartPooler(t, url)
	p := patient()
	p.lock = 50 * time.Millisecond
	for name, url := range map[string]string{"direct": url, "behind a pooler": pgtest.ByTCP(url, address)} {
		s := openAt(t, url, Options{timeouts: &p})
		defer closeNow(t, s)
		for _, lock := range []string{"SELECT FROM counter FOR UPDATE", "LOCK TABLE categories"} {
			conn := pgtest.Connect(t, url)
			pgtest.Execute(t, conn, "BEGIN; "+lock)
			writes := make(map[string]error)
			if strings.HasPrefix(lock, "SELECT") {
				writes["change"] = s.Change(t.Context(), "change", func(*store.Tx) error { return nil })
			}
			for _, key := range []petcat.IdempotencyKey{"", "k"} {
				_, writes["create "+string(key)] = tryCreate(t.Context(), t, s, "Dogs", key)
			}
			for write, err := range writes {
				rejected := sqlState(err) == "55P03" && petcat.CodeOf(err) == petcat.CodeServiceUnavailable
				if !rejected || errors.Is(err, petcat.ErrOutcomeUnknown) {
					t.Errorf("%s, %s while another session holds %s: %v, want a rejection", name, write, lock, err)
				}
			}
			if s.writes.err() != nil {
				t.Error("a lock opens the breaker")
			}
			pgtest.Execute(t, conn, "COMMIT")
		}
		if got := storetest.Names(t, s); len(got) > 0 {
			t.Errorf("%s: categories %q, want none", name, got)
		}
	}
}

// awaitLock returns when one session waits for a lock.
func awaitLock(t *testing.T, url string) {
	t.Helper()
	awaitLocks(t, url, 1)
}

// awaitLocks returns when want sessions wait for a lock.
func awaitLocks(t *testing.T, url string, want int) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	eventually(t, "sessions wait for a lock", func() error {
		const count = `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`
		var waiting int
		err := conn.QueryRow(t.Context(), count).Scan(&waiting)
		if err == nil && waiting < want {
			err = fmt.Errorf("%d sessions wait, want %d", waiting, want)
		}
		return err
	})
}
