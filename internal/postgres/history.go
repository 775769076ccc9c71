package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"petcat"
	"petcat/internal/store"
)

// ErrHistory says that the database no longer continues what was read of it: it is
// another one, a standby took over, or an older state was restored. What is in memory may
// be of a future that is gone.
var ErrHistory = errors.New("the database does not contain all of the data read from it before")

// history notices that the database no longer continues what was read of it. Each new
// connection is checked before it is used: what changes the history of a database ends
// its connections. Behind a pooler it does not, so [Store.Check] looks, too. A disk that
// was set back without a recovery target is noticed by the revisions, if the database has
// fewer of them when it is next asked.
type history struct {
	gone chan struct{} // closed when err is set

	mu     sync.Mutex
	known  string          // guarded by mu; that of the first connection; "": it is not told
	latest petcat.Revision // guarded by mu; the newest that was read
	err    error           // guarded by mu
}

// selectHistory returns nothing in a standby, which has no history of its own. A
// promotion and a recovery to a point in time begin a new timeline.
const selectHistory = `SELECT system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
		|| '/' || (SELECT oid FROM pg_database WHERE datname = current_database())
	FROM pg_control_system() WHERE NOT pg_is_in_recovery()`

// check returns an error for a connection that must not be used.
func (h *history) check(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, selectHistory).ReadAll()
	if sqlState(err) == "42501" {
		return nil // this role may not read it
	}
	if err != nil || len(results) == 0 || len(results[0].Rows) == 0 {
		return err
	}
	name := string(results[0].Rows[0][0])
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == "" {
		h.known = name
	}
	if name != h.known {
		h.fail(fmt.Errorf("%w: it is %s, and was %s (server/timeline/database)", ErrHistory, name, h.known))
	}
	return h.err
}

// fail says that the database does not continue. The caller holds mu.
func (h *history) fail(err error) {
	if h.err == nil {
		h.err = err
		close(h.gone)
	}
}

// revision returns the newest revision that was read.
func (h *history) revision() petcat.Revision {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest
}

// reached takes note of the database's revision, which is at least one that was read
// before it was asked for.
func (h *history) reached(r, before petcat.Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r < before {
		h.fail(fmt.Errorf("%w: its revision is %d, and was %d", ErrHistory, r, before))
	}
	h.latest = max(h.latest, r)
}

// HistoryID names the history of the database, in a few letters: its revisions stand for
// the same data as long as it is the same. It is "" where the server does not tell.
func (s *Store) HistoryID() string {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	if s.history.known == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s.history.known))
	return hex.EncodeToString(sum[:4])
}

// Failed is closed when the database no longer continues what was read of it: no new
// connection is used, and Err says why. Who opens the store anew reads what is there.
func (s *Store) Failed() <-chan struct{} { return s.history.gone }

// Err returns why the store cannot be used any more, as an [ErrHistory].
func (s *Store) Err() error {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	if s.history.err == nil {
		return nil
	}
	return store.Unavailable("the database is another one than before, or was restored to an earlier state; start petcat again, so that it reads what is there", s.history.err)
}

// AccessChangesSince implements [petcat.AccessStore].
func (s *Store) AccessChangesSince(ctx context.Context, after petcat.Revision) (petcat.AccessChange, error) {
	before := s.history.revision()
	c, err := s.Store.AccessChangesSince(ctx, after)
	if err == nil {
		s.history.reached(c.Revision, before)
	}
	return c, err
}
