package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// ErrHistory reports that the history of the database has changed: it is another database, a
// standby was promoted, or an older state was restored. It may lack changes that are in memory.
var ErrHistory = errors.New("the database does not contain all of the data read from it before")

// history detects a change of the database's history. Each new connection is checked before it is
// used, because such a change closes the connections. Behind a pooler it does not, so [DB.Check] also
// checks. A disk that was restored without a recovery target is detected by a revision that is lower than
// one that was read before.
type history struct {
	changed chan struct{} // closed when err is set

	mu     sync.Mutex
	known  historyName     // guarded by mu; at the first connection; empty if the role may not read it
	latest petcat.Revision // guarded by mu; the newest revision that was read
	err    error           // guarded by mu
}

// historyName identifies a history. A promotion and a recovery to a point in time start a new
// timeline.
type historyName struct{ server, timeline, database string }

func (n historyName) String() string { return n.server + "/" + n.timeline + "/" + n.database }

// selectHistory returns the name of a history. On a standby it does not return a row.
const selectHistory = `
	SELECT
		system_identifier,
		left(pg_walfile_name(pg_current_wal_lsn()), 8),
		(SELECT oid FROM pg_database WHERE datname = current_database())
	FROM pg_control_system() WHERE NOT pg_is_in_recovery()`

// check returns an error for a connection that must not be used.
func (h *history) check(ctx context.Context, conn *pgconn.PgConn) error {
	_, err := h.compare(ctx, conn)
	return err
}

// checkWriter is check for connections of [DB.BeginWrite], which does not depend on earlier reads: it may
// use a promoted standby, so the last usage is written to it.
func (h *history) checkWriter(ctx context.Context, conn *pgconn.PgConn) error {
	same, err := h.compare(ctx, conn)
	if same && errors.Is(err, ErrHistory) {
		return nil
	}
	return err
}

// compare compares the history of a connection with the known one. same is true if the database is
// the same, if only on another timeline.
func (h *history) compare(ctx context.Context, conn *pgconn.PgConn) (same bool, err error) {
	results, err := conn.Exec(ctx, selectHistory).ReadAll()
	if sqlState(err) == "42501" {
		return true, nil // the role may not read it
	}
	if err != nil || len(results) == 0 || len(results[0].Rows) == 0 {
		return false, err
	}
	row := results[0].Rows[0]
	name := historyName{
		server:   string(row[0]),
		timeline: string(row[1]),
		database: string(row[2]),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == (historyName{}) {
		h.known = name
	}
	if name != h.known {
		h.fail(fmt.Errorf("%w: it is %s and was %s (server/timeline/database)", ErrHistory, name, h.known))
	}
	return name.server == h.known.server && name.database == h.known.database, h.err
}

// fail sets the error. The caller holds mu.
func (h *history) fail(err error) {
	if h.err == nil {
		h.err = err
		close(h.changed)
	}
}

// revision returns the newest revision that was read.
func (h *history) revision() petcat.Revision {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest
}

// reached records the revision of the database. It must not be lower than before, the newest one
// that was read when the query was sent.
func (h *history) reached(r, before petcat.Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r < before {
		h.fail(fmt.Errorf("%w: its revision is %d and was %d", ErrHistory, r, before))
	}
	h.latest = max(h.latest, r)
}

// HistoryID returns a short identifier of the database's history: while it is the same, a revision
// identifies the same data. It is "" if the role may not read it.
func (s *DB) HistoryID() string {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	if s.history.known == (historyName{}) {
		return ""
	}
	sum := sha256.Sum256([]byte(s.history.known.String()))
	return hex.EncodeToString(sum[:4])
}

// Failed is closed when the history of the database has changed: new connections are used only for
// [DB.BeginWrite], and Err returns the reason. Open the store again to read the database again.
func (s *DB) Failed() <-chan struct{} { return s.history.changed }

// Err returns an [ErrHistory] if the store cannot be used any more.
func (s *DB) Err() error {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	if s.history.err == nil {
		return nil
	}
	return store.Unavailable(
		"the database was replaced, or restored to an earlier state; restart petcat, so that it loads it again", s.history.err)
}

// NewestRead implements [store.DB].
func (s *DB) NewestRead() petcat.Revision { return s.history.revision() }

// Reached implements [store.DB]. A lower revision than before is another history.
func (s *DB) Reached(r, before petcat.Revision) { s.history.reached(r, before) }
