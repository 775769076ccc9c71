// Package sqlite stores everything in one SQLite file: it provides connections,
// commits and migrations, and package store the operations.
//
// All writes go through one goroutine with one connection (writer.go),
// which commits whatever is waiting as one transaction: rows, revisions, idempotency
// keys and audit entries together, synced to the disk before any response. What the
// domain refuses is rolled back alone. Reads have connections of their own,
// which cannot write. Other processes, such as the command line, may open the same
// file at the same time.
//
// It refuses to open a file that is not a petcat database, is damaged or belongs to
// another environment, and to run with weaker durability than it promises; an
// [petcat.UnusableError] says which, and what to do.
//
// When the disk is full, read-only or locked for long, writes fail with
// service_unavailable and recover by themselves; a quota and a limit of the size of files
// are like a full disk. After an error of the disk itself, or of its sync, or when the file
// is no longer where it was, nothing is written any more: all writes fail, and
// [Store.Failed] tells the program to end, so that its next start begins with what is on
// the disk. errors.go says which error is which.
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

// Options says how to open a Store.
type Options struct {
	Dir         *datadir.Dir
	Environment petcat.Environment // "": that of the data; production for fresh data
	Clock       clock.Clock
	Logger      *slog.Logger // nil: no log
	// Serving says that the caller holds the directory's server lock: it alone
	// settles and moves the write-ahead log.
	Serving bool
	// CategoriesCommitted, when set, is given each group's new categories, by id
	// ascending, after they are durable and before anybody is answered. It is called by
	// one goroutine at a time.
	CategoriesCommitted func([]petcat.RevisedCategory)
	// CommitObserved, when set, is told the size of each group of writes and how
	// long it took.
	CommitObserved func(group int, d time.Duration)
}

// Store keeps everything in one SQLite file. It is safe for concurrent use.
type Store struct {
	*store.Store
	options         Options
	path            string
	life            context.Context //nolint:containedctx // of writes, which belong to no single caller; it never ends
	writes, readers *sql.DB         // writes has one connection
	writer          writer
	group           *groupcommit.Committer[*op]
	refused         atomic.Bool // the last write found no room, or no right to write
}

// Open opens the database in a data directory, makes it if there is none, and brings its
// schema up to date. It returns a [petcat.UnusableError] for a database that cannot be used, and
// what package datadir returns.
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

// prepare makes sure that the file is ours and has all tables and a write-ahead log.
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
	// The mode is a setting of the file, which stays. Of several processes that change it at
	// once, SQLite lets none wait for the others.
	return s.whileLocked(func() error {
		_, err := s.writes.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		return err
	})
}

// Close commits what is waiting, moves the write-ahead log into the database and
// closes it. No other call may follow or be under way.
func (s *Store) Close() error {
	s.group.Close()
	if s.group.Err() != nil {
		// The last connection to be closed moves the log into the database. After
		// a failure of the disk nothing is to be written, so the readers go last:
		// they cannot.
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

// Write is Change: nobody else can write meanwhile in any case.
func (e engine) Write(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return e.Change(ctx, store.Work{Doing: doing}, func(t *store.Tx) error { return fn(t.Conn) })
}

// submit commits an operation in the next group.
func (e engine) submit(ctx context.Context, doing string, o *op) error {
	err := e.group.Submit(ctx, o)
	if stops(err) {
		err = fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, err)
		return store.Unavailable("nothing can be stored at the moment, and this write may or may not have happened; retry it later with the same Idempotency-Key", err)
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

// Failed is closed when the store has stopped writing for good; [Store.Err] then
// says why. The program is to end and start again from what is on the disk.
func (s *Store) Failed() <-chan struct{} { return s.group.Failed() }

// Err returns a [petcat.UnusableError] that says why the store stopped writing, nil while it has
// not.
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
	Shed    uint64 // writes refused so far because too many waited
}

// Stats returns the state of the store. It does not touch the disk, so it can be asked
// while that does not respond.
func (s *Store) Stats() Stats {
	return Stats{Waiting: s.group.Waiting(), Shed: s.group.Shed()}
}

// WALBytes returns the size of the write-ahead log, as a file, 0 if there is none.
func (s *Store) WALBytes() int64 { return fileSize(s.path + "-wal") }

// Check asks the database whether it answers and, after a write that was refused, whether
// writes work again. It returns why not.
func (s *Store) Check(ctx context.Context) error {
	var one int
	err := s.readers.QueryRowContext(ctx, "SELECT 1 FROM counter").Scan(&one)
	if err == nil && s.refused.Load() {
		_, err = s.Exec(ctx, "try to write", "UPDATE counter SET revision = revision")
	}
	return s.translate(err, "check")
}
