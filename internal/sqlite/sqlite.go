// Package sqlite stores everything in one SQLite file: it provides connections,
// commits and migrations, and package store the operations.
//
// All writes go through one goroutine with one connection (writer.go), which commits all
// queued operations in one transaction: rows, revisions, idempotency keys and audit entries
// are synced to the disk before any response. An operation that the domain refuses is rolled
// back alone. Reads have separate, read-only connections. Other processes, such as the command
// line, may open the same file at the same time.
//
// It refuses to open a file that is not a petcat database, is damaged or belongs to another
// environment. The error is a [petcat.UnusableError] with the remedy.
//
// While the disk is full or read-only, or another process locks the file, writes fail with
// service_unavailable; they recover by themselves. A disk quota and a limit on file sizes count
// as a full disk. After a failed write or sync, or if the file was moved or removed, all writes
// fail for good and [Store.Failed] is closed: the program must end, and recover from the disk
// when it starts again. errors.go classifies the errors.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/datadir"
	"petcat/internal/groupcommit"
	"petcat/internal/store"
)

// Options are the options of a Store.
type Options struct {
	Dir         *datadir.Dir
	Environment petcat.Environment // "": that of the data; production for fresh data
	Clock       clock.Clock
	Logger      *slog.Logger // nil: no log
	// Serving is true if the caller holds the server lock of the directory. Only a server
	// checkpoints the write-ahead log.
	Serving bool
	// CategoriesCommitted, if not nil, is called with the changed categories of each group, by
	// ascending id, after they are durable and before any caller is answered. Calls do not
	// overlap.
	CategoriesCommitted func([]petcat.RevisedCategory)
	// CommitObserved, if not nil, is called with the size of each group of writes and the
	// duration of its commit.
	CommitObserved func(group int, d time.Duration)
}

// Store keeps everything in one SQLite file. It is safe for concurrent use.
type Store struct {
	*store.Store
	options         Options
	path            string
	life            context.Context //nolint:containedctx // of groups of writes, which have no single caller; it never ends
	writes, readers *sql.DB         // writes has one connection
	writer          writer
	group           *groupcommit.Committer[*op]
	refused         atomic.Bool // the last write failed because the disk is full or not writable
}

// Open opens or creates the database in a data directory, and migrates its schema. It returns a
// [petcat.UnusableError] for a database that cannot be used.
func Open(ctx context.Context, o Options) (*Store, error) {
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
	s := &Store{
		options: o, path: path, life: context.WithoutCancel(ctx),
		writes: open(path, "rw", 1, settings(timeout)...), readers: open(path, "ro", maxReaders, settings(timeout)...),
	}
	if err := s.prepare(ctx); err != nil {
		return nil, explain(errors.Join(err, s.readers.Close(), s.writes.Close()), path)
	}
	s.group = groupcommit.New(groupcommit.Options[*op]{
		Commit: s.commit, Clock: o.Clock, Observe: o.CommitObserved,
		Owner: func(o *op) uint64 { return uint64(o.account) },
	})
	return s, nil
}

// prepare checks and migrates the file, and turns on the write-ahead log.
func (s *Store) prepare(ctx context.Context) error {
	if err := migrate(ctx, s.writes, s.path, migrations()); err != nil {
		return err
	}
	m, err := store.ReadMeta(conn{ctx, s.writes}, s.options.Environment, s.options.Clock.Read().Time())
	if err != nil {
		return err
	}
	s.Store = store.New(engine{s}, dialect(), m, s.options.Clock)
	if s.writer.file, err = os.Stat(s.path); err != nil {
		return err
	}
	s.writer.conn = conn{s.life, newPrepared(s.writes)}
	s.writer.tries = int(timeout / time.Millisecond)
	if _, err := s.writes.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	// The mode is stored in the file. busy_timeout does not apply to processes that change it at
	// the same time.
	return s.whileLocked(func() error {
		_, err := s.writes.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		return err
	})
}

// Close commits the queued operations, checkpoints the write-ahead log and closes the database. No
// other call may follow or be in progress.
func (s *Store) Close() error {
	s.group.Close()
	if s.group.Err() != nil {
		// Closing the last connection checkpoints the log. After a disk failure nothing may be
		// written, so the read-only connections are closed last.
		return errors.Join(s.writes.Close(), s.readers.Close())
	}
	return s.translate(errors.Join(s.readers.Close(), s.writes.Close()), "close")
}

// engine implements [store.Database].
type engine struct{ *Store }

func (e engine) Change(ctx context.Context, w store.Work, fn func(*store.Tx) error) error {
	return e.submit(ctx, w.Doing, &op{change: fn, account: w.Account})
}

func (e engine) Create(ctx context.Context, c *store.Create) error {
	err := e.submit(ctx, "create category", &op{create: c, account: c.Account})
	if err == nil {
		err = c.Outcome
	}
	return err
}

// Write is Change, because there is only one writer.
func (e engine) Write(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return e.Change(ctx, store.Work{Doing: doing}, func(t *store.Tx) error { return fn(t.Conn) })
}

// submit commits an operation in the next group.
func (e engine) submit(ctx context.Context, doing string, o *op) error {
	err := e.group.Submit(ctx, o)
	if stops(err) {
		err = fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err)
		return store.Unavailable("writes are temporarily unavailable, and this one may have happened; retry it later with the same Idempotency-Key", err)
	}
	if err = store.SubmitError(err); err == nil {
		err = o.outcome
	}
	return e.translate(err, doing)
}

func (e engine) Read(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return e.translate(fn(conn{ctx, e.readers}), doing)
}

func (e engine) Each(ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any) error {
	return e.translate(conn{ctx, e.readers}.Query(row, query, args...), doing)
}

// Failed is closed when the store has stopped writing for good; [Store.Err] then returns the reason.
// The program must end and start again.
func (s *Store) Failed() <-chan struct{} { return s.group.Failed() }

// Err returns a [petcat.UnusableError] if the store has stopped writing for good.
func (s *Store) Err() error {
	err := s.group.Err()
	if err == nil {
		return nil
	}
	return petcat.TemporarilyUnusablef(err, "nothing more can be written to %s (%v); check the disk and start petcat again, which recovers what is there", s.path, err)
}

// Stats is the state of a store for metrics.
type Stats struct {
	Waiting int    // writes in the queue
	Shed    uint64 // writes refused so far because the queue was full
}

// Stats returns the state of the store, without access to the disk, which may hang.
func (s *Store) Stats() Stats {
	return Stats{Waiting: s.group.Waiting(), Shed: s.group.Shed()}
}

// WALBytes returns the size of the file of the write-ahead log, 0 if there is none.
func (s *Store) WALBytes() int64 { return fileSize(s.path + "-wal") }

// Check checks whether the database answers and, if the last write was refused, whether writes work
// again.
func (s *Store) Check(ctx context.Context) error {
	var one int
	err := s.readers.QueryRowContext(ctx, "SELECT 1 FROM counter").Scan(&one)
	if err == nil && s.refused.Load() {
		_, err = s.Exec(ctx, "try to write", "UPDATE counter SET revision = revision")
	}
	return s.translate(err, "check")
}
