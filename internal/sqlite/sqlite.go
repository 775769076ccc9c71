package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
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
	// Migrate says that an older schema is brought up to date; without it, data
	// that has one is refused. What is empty gets the newest in any case.
	Migrate bool
	// Serving says that the caller holds the directory's server lock: it alone
	// cleans up, at the start and in the background.
	Serving bool
	// CategoriesCommitted, when set, is given each group's new categories, by id
	// ascending, after they are durable and before anybody is answered. It is called by
	// one goroutine at a time.
	CategoriesCommitted func([]petcat.RevisedCategory)
	// CommitObserved, when set, is told the size of each group of writes and how
	// long it took.
	CommitObserved func(group int, d time.Duration)
	// Queue is how many writes may wait; 0: groupcommit.DefaultQueue.
	Queue int
}

// Store keeps everything in one SQLite file. It is safe for concurrent use.
type Store struct {
	*store.Store
	options Options
	path    string
	writer  *writer
	group   *groupcommit.Committer[*op]
	readers *sql.DB
	refused atomic.Bool // the last write found no room, or no right to write

	background sync.WaitGroup
	stop       context.CancelFunc // ends the background
	close      func() error       // closes once
}

// Open opens the database in a data directory, and makes it, or brings its schema
// up to date if it may. It returns an [openerror.Error] for a database that
// cannot be used, and what package datadir returns.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	path, err := o.Dir.Database()
	if err != nil {
		return nil, err
	}
	lock, err := o.Dir.LockMigration(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	s, err := openStore(ctx, path, o)
	return s, openError(err, path)
}

func openStore(ctx context.Context, path string, o Options) (_ *Store, err error) {
	if err := settleFor(ctx, path, o.Serving); err != nil {
		return nil, err
	}
	db, err := open(dsn(path, "rw", writerPragmas()), 1)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	m, err := prepare(ctx, db, path, o.Migrate, o.Environment, o.Clock.Read().Time())
	if err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, db, path, o)
	if err != nil {
		return nil, err
	}
	readers, err := open(dsn(path, "ro", readerPragmas()), maxReaders)
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, path: path, writer: w, readers: readers}
	s.Store = store.New(engine{s}, dialect(), m, o.Clock)
	s.start()
	return s, nil
}

// start runs the writer and, for a server, the cleaning.
func (s *Store) start() {
	s.group = groupcommit.New(groupcommit.Options[*op]{
		Commit:  s.commit,
		Clock:   s.options.Clock,
		Observe: s.options.CommitObserved,
		Owner:   func(o *op) uint64 { return uint64(o.account) },
		Queue:   s.options.Queue,
	})
	var ctx context.Context
	ctx, s.stop = context.WithCancel(s.writer.life)
	if s.options.Serving {
		s.background.Go(func() { store.RunClean(ctx, s.options.Logger, s.Clean) })
	}
	s.close = sync.OnceValue(s.shut)
}

// Close commits what is waiting, moves the write-ahead log into the database and
// closes it. No other call may follow or be under way.
func (s *Store) Close() error { return s.close() }

func (s *Store) shut() error {
	s.stop()
	s.background.Wait()
	s.group.Close()
	if s.group.Err() != nil {
		// The last connection to be closed moves the log into the database. After
		// a failure of the disk nothing is to be written, so the readers go last:
		// they cannot.
		return errors.Join(s.writer.close(), s.readers.Close())
	}
	return translate(errors.Join(s.readers.Close(), s.writer.close()), "close")
}

// commit makes a group durable. It is the committer's function.
func (s *Store) commit(group []*op) error {
	err := s.commitTogether(group)
	if err != nil && classOf(err) == statement && len(group) > 1 {
		// One of them is wrong, and the others must not fail with it.
		err = s.commitEach(group)
	}
	if err == nil && s.options.Serving {
		err = s.checkpoint()
	}
	for _, o := range group {
		if o.change == nil {
			s.Release(o.create)
		}
	}
	c := classOf(err)
	s.refused.Store(c == full || c == unwritable)
	if c >= damaged {
		s.options.Logger.Error("writes are stopped after a disk failure: restart the program to recover from what is on disk", "error", err)
	}
	return groupError(err)
}

func (s *Store) commitTogether(group []*op) error {
	changed, err := s.writer.commit(group)
	if err == nil && len(changed) > 0 && s.options.CategoriesCommitted != nil {
		s.options.CategoriesCommitted(changed)
	}
	return err
}

// commitEach gives each operation a transaction of its own. An error that concerns one of
// them alone becomes its outcome.
func (s *Store) commitEach(group []*op) error {
	for i, o := range group {
		err := s.commitTogether(group[i : i+1])
		if err != nil && classOf(err) != statement {
			return err
		}
		if err != nil {
			o.outcome = err
		}
	}
	return nil
}

// checkpoint keeps the log short. Without room that has to wait.
func (s *Store) checkpoint() error {
	err := s.writer.checkpoint()
	if err == nil {
		return nil
	}
	switch classOf(err) {
	case full, locked, unwritable, passing:
		s.options.Logger.Warn("the checkpoint failed; the write-ahead log grows until one succeeds; nothing is lost", "error", err)
		return nil
	default:
		return fmt.Errorf("checkpoint: %w: %w", errUnknown, err)
	}
}

// Failed is closed when the store has stopped writing for good; [Store.Err] then
// says why. The program is to end and start again from what is on the disk.
func (s *Store) Failed() <-chan struct{} { return s.group.Failed() }

// Err returns why the store stopped writing, nil while it has not.
func (s *Store) Err() error { return s.group.Err() }

// Stats is the state of a store for metrics.
type Stats struct {
	Waiting  int    // writes in the queue
	Shed     uint64 // writes refused so far because too many waited
	Writable bool   // false: the last write was refused, or writing stopped for good
}

// Stats returns the state of the store. It does not touch the disk, so it can be asked
// while that does not respond.
func (s *Store) Stats() Stats {
	return Stats{Waiting: s.group.Waiting(), Shed: s.group.Shed(), Writable: s.group.Err() == nil && !s.refused.Load()}
}

// WALBytes returns the size of the write-ahead log, as a file, 0 if there is none.
func (s *Store) WALBytes() int64 { return fileSize(s.path + "-wal") }

// Check asks the database whether it answers and, after a write that was refused, whether
// writes work again. What it finds of writes is in Stats.
func (s *Store) Check(ctx context.Context) error {
	var one int
	if err := s.readers.QueryRowContext(ctx, "SELECT 1 FROM counter").Scan(&one); err != nil {
		return translate(err, "check")
	}
	if s.refused.Load() {
		// Its outcome is noted where writes are committed.
		_, _ = s.Exec(ctx, "try to write", "UPDATE counter SET revision = revision")
	}
	return nil
}
