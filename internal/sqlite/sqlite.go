// Package sqlite stores everything in one SQLite file: it provides connections,
// commits and migrations, and package store the operations.
//
// One connection writes (writer.go). Callers take turns to use it, each in a savepoint of one file
// transaction: rows, revisions, idempotency keys and audit entries of all of them are synced together,
// before any response. If the domain rejects an operation, only that one is rolled back. Reads have separate,
// read-only connections. Other processes, such as the command line, may open the same file at the same
// time; a server reads their category changes with its next write, or with [DB.CatchUp].
//
// It rejects a file that is not a petcat database, is damaged or belongs to another
// environment. The error is a [petcat.UnusableError] with the remedy.
//
// While the disk is full or read-only, or another process locks the file, writes fail with
// service_unavailable; they recover by themselves. A disk quota and a limit on file sizes count
// as a full disk. After a failed write or sync, or if the file was moved or removed, all writes
// fail permanently and [DB.Failed] is closed: the program must exit, and recover from the disk
// when it starts again. errors.go classifies the errors.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/groupcommit"
	"github.com/petcat-api/petcat/internal/store"
)

// Options are the options of a DB.
type Options struct {
	Dir         *datadir.Dir
	Environment petcat.Environment // "": the data's; production for fresh data
	Clock       clock.Clock
	Logger      *slog.Logger // nil: no log
	// Serving is true if the caller holds the server lock of the directory. Only a server
	// checkpoints the write-ahead log.
	Serving bool
	// CommitObserved, if not nil, is called with the size of each group of writes and the
	// duration of its commit.
	CommitObserved func(group int, d time.Duration)
}

// DB is a SQLite file, a [store.DB]. It is safe for concurrent use.
type DB struct {
	options         Options
	path            string
	meta            store.Meta
	life            context.Context //nolint:containedctx // of groups of writes, which have several callers; never canceled
	writes, readers *sql.DB         // writes has one connection
	writer          writer
	line            *groupcommit.Line
	group           *groupcommit.Committer[*store.Create]
	rejected        atomic.Bool                    // the last write failed because the disk is full or not writable
	failed          chan struct{}                  // closed when writing must stop
	committed       func([]petcat.RevisedCategory) // of OnCategoriesCommitted; nil: none
	passedOn        atomic.Int64                   // the last revision that committed has, at least the one at Open

	mu      sync.Mutex
	failure error // guarded by mu; set once, before failed is closed
}

// OnCategoriesCommitted sets a function that is called with the changed categories of each group, by
// ascending revision, after they are durable and before any caller gets its result. They include the
// changes of other processes since Open. Calls do not overlap. Set it before the first write.
func (s *DB) OnCategoriesCommitted(fn func([]petcat.RevisedCategory)) { s.committed = fn }

// Open opens or creates the database in a data directory, and migrates its schema. It returns a
// [petcat.UnusableError] for a database that cannot be used.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	path, err := o.Dir.Database()
	if err != nil {
		return nil, err
	}
	if o.Serving {
		if err := settle(ctx, path, timeout); err != nil {
			return nil, explain(err, path)
		}
	}
	s := &DB{
		options: o,
		path:    path,
		life:    context.WithoutCancel(ctx),
		writes:  open(path, "rw", 1, settings(timeout)...),
		readers: open(path, "ro", maxReaders, settings(timeout)...),
		line:    groupcommit.NewLine(groupcommit.DefaultLine),
		failed:  make(chan struct{}),
	}
	if err := s.prepare(ctx); err != nil {
		return nil, explain(errors.Join(err, s.readers.Close(), s.writes.Close()), path)
	}
	s.group = groupcommit.New(groupcommit.Options[*store.Create]{
		Commit: s.create,
		Line:   s.line,
		Owner:  func(c *store.Create) uint64 { return uint64(c.Account) },
		Clock:  o.Clock,
	})
	return s, nil
}

// prepare checks and migrates the file, and turns on the write-ahead log.
func (s *DB) prepare(ctx context.Context) error {
	if err := migrate(ctx, s.writes, s.path, migrations()); err != nil {
		return err
	}
	now := s.options.Clock.Read().Time()
	var err error
	if s.meta, err = store.ReadMeta(conn{ctx, s.writes}, s.options.Environment, now); err != nil {
		return err
	}
	if s.writer.file, err = os.Stat(s.path); err != nil {
		return err
	}
	n, err := store.ReadSequences(conn{ctx, s.writes})
	if err != nil {
		return err
	}
	s.passedOn.Store(n.Revision)
	s.writer.taken = make(chan struct{}, 1)
	s.writer.conn = conn{s.life, newPrepared(s.writes)}
	s.writer.tries = int(timeout / time.Millisecond)
	if _, err := s.writes.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	// The mode is stored in the file. busy_timeout does not apply to processes that change it at
	// the same time.
	return s.whileLocked(ctx, func() error {
		_, err := s.writes.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		return err
	})
}

// Close commits the queued operations, checkpoints the write-ahead log and closes the database. No
// other call may follow or be in progress.
func (s *DB) Close() error {
	s.group.Close()
	s.writer.commits.Wait()
	if err := s.Err(); err != nil && !errors.Is(err, errLogRemoved) {
		// Closing the last connection checkpoints the log. After a disk failure it must not, so the
		// read-only connections are closed last.
		return errors.Join(s.writes.Close(), s.readers.Close())
	}
	return s.translate(errors.Join(s.readers.Close(), s.writes.Close()), "close")
}

// Meta implements [store.DB].
func (s *DB) Meta() store.Meta { return s.meta }

// NewestRead implements [store.DB]. No other process changes the history of a file in use.
func (s *DB) NewestRead() petcat.Revision { return 0 }

// Reached implements [store.DB].
func (s *DB) Reached(petcat.Revision, petcat.Revision) {}

// Create implements [store.DB].
func (s *DB) Create(ctx context.Context, c *store.Create) error {
	if err := s.group.Submit(ctx, c); err != nil {
		return s.writeError(err, "create")
	}
	return s.translate(c.Outcome, "create")
}

// BeginWrite implements [store.DB]. There is only one writer, so it also locks the counter row.
func (s *DB) BeginWrite(ctx context.Context, doing string) (store.Write, error) {
	tx, err := s.Begin(ctx, store.Work{Doing: doing})
	if err != nil {
		return store.Write{}, err
	}
	return store.Write{Conn: tx.Conn, Ending: tx}, nil
}

// writeError returns the error for the caller of a write.
func (s *DB) writeError(err error, doing string) error {
	switch {
	case stops(err):
		err = fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err)
		return store.Unavailable("writes are unavailable, and this one may have happened; check before you retry", err)
	case errors.Is(err, errStopped):
		return store.Unavailable("the database cannot be written now; retry later", err)
	default:
		return s.translate(store.SubmitError(err), doing)
	}
}

// Read implements [store.DB].
func (s *DB) Read(ctx context.Context, doing string, fn func(store.Querier) error) error {
	return s.translate(fn(conn{ctx, s.readers}), doing)
}

// Each implements [store.DB].
func (s *DB) Each(ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any) error {
	return s.translate(conn{ctx, s.readers}.Query(row, query, args...), doing)
}

// stop stops writing permanently: after a failed sync the kernel drops the pages that it could not write
// and reports success the next time, so a retry would report a commit that never reached the disk.
func (s *DB) stop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.options.Logger.Error("writes stopped after a disk failure", "error", err)
		s.failure = err
		close(s.failed)
	}
}

// Failed is closed when the database has stopped writing permanently; [DB.Err] then returns the reason.
// The program must be restarted.
func (s *DB) Failed() <-chan struct{} { return s.failed }

// Err returns a [petcat.UnusableError] if the database has stopped writing permanently.
func (s *DB) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		return nil
	}
	return petcat.TemporarilyUnusablef(s.failure,
		"%s can no longer be written (%v); check the disk, then restart petcat, which recovers the data",
		s.path, s.failure)
}

// Stats is the state of a DB for metrics.
type Stats struct {
	Waiting int    // writes in the queue
	Shed    uint64 // writes rejected so far because the queue was full
}

// Stats returns the state of the store, without access to the disk, which may hang.
func (s *DB) Stats() Stats {
	return Stats{Waiting: s.line.Waiting(), Shed: s.line.Shed()}
}

// WALBytes returns the size of the file of the write-ahead log, 0 if there is none.
func (s *DB) WALBytes() int64 { return fileSize(s.path + "-wal") }

// Check checks whether the database responds and, if the last write was rejected, whether writes work
// again.
func (s *DB) Check(ctx context.Context) error {
	var one int
	err := s.readers.QueryRowContext(ctx, "SELECT 1 FROM counter").Scan(&one)
	if err == nil && s.rejected.Load() {
		err = s.tryToWrite(ctx)
	}
	return s.translate(err, "check")
}

// NewerSchema implements [store.Database].
func (s *DB) NewerSchema(ctx context.Context) (bool, error) {
	var version int
	err := s.readers.QueryRowContext(ctx, "SELECT user_version FROM pragma_user_version").Scan(&version)
	return version > len(migrations()), s.translate(err, "read the version of the schema")
}

const tryWrite = `
	INSERT INTO meta (name, value) VALUES ('write_check', $1)
	ON CONFLICT (name) DO UPDATE SET value = excluded.value`

// tryToWrite writes a row. SQLite does not write to the disk if the value is the same as before.
func (s *DB) tryToWrite(ctx context.Context) (err error) {
	w, err := s.BeginWrite(ctx, "try to write")
	if err != nil {
		return err
	}
	defer w.End(&err)
	now := s.options.Clock.Read().Time()
	if err := w.Run(tryWrite, now.Format(time.RFC3339Nano)); err != nil {
		return err
	}
	if err := w.Commit(); err != nil {
		return err
	}
	s.rejected.Store(false)
	return nil
}
