package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
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
	// ascending, after they are durable and before anybody is answered. The
	// slice is reused afterwards, the texts are not. It is called by one
	// goroutine at a time.
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
	path    string
	logger  *slog.Logger
	serving bool
	writer  *writer
	group   *groupcommit.Committer[*op]
	readers *sql.DB
	dir     *datadir.Dir
	refused atomic.Bool // the last write found no room, or no right to write
	full    atomic.Bool // the disk has no room

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
	if err != nil {
		return nil, explain(err, path)
	}
	return s, nil
}

func openStore(ctx context.Context, path string, o Options) (_ *Store, err error) {
	refused, err := settleFor(ctx, path, o.Serving)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, path, o)
	if err != nil {
		return nil, err
	}
	w.refused = refused
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	m, err := prepare(ctx, w.db, path, o.Migrate, o.Environment, o.Clock.Read().Time())
	if err != nil {
		return nil, err
	}
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	if o.Serving {
		// What made the schema goes into the database at once: a restore that fills
		// the disk with its log would leave no room for that later.
		if _, err := w.checkpointBy("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return nil, err
		}
	}
	readers, err := open(dsn(path, "ro", readerPragmas()), maxReaders)
	if err != nil {
		return nil, err
	}
	count := 1
	if o.Serving {
		count = maxReaders // now: later there may be no descriptor left
	}
	if err := connectAll(ctx, readers, count); err != nil {
		return nil, errors.Join(err, readers.Close())
	}
	s := &Store{path: path, dir: o.Dir, logger: o.Logger, serving: o.Serving, writer: w, readers: readers}
	s.Store = store.New(engine{s}, dialect(), m, o.Clock)
	s.start(o)
	return s, nil
}

// start runs the writer and, for a server, the cleaning.
func (s *Store) start(o Options) {
	s.writer.committed = o.CategoriesCommitted
	s.group = groupcommit.New(groupcommit.Options[*op]{
		Commit:  s.commit,
		Clock:   o.Clock,
		Observe: o.CommitObserved,
		Owner:   (*op).owner,
		Queue:   o.Queue,
	})
	var ctx context.Context
	ctx, s.stop = context.WithCancel(s.writer.life)
	if o.Serving {
		s.background.Go(func() { store.RunClean(ctx, s.logger, s.Clean) })
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
	if err := errors.Join(s.readers.Close(), s.writer.close()); err != nil {
		return translate(err, "close")
	}
	return s.settleAtClose()
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
	Writable bool   // false: the disk is full, the last write was refused, or writing stopped for good
}

// Stats returns the state of the store. It does not touch the disk, so it can be asked
// while that does not respond.
func (s *Store) Stats() Stats {
	return Stats{
		Waiting: s.group.Waiting(), Shed: s.group.Shed(),
		Writable: s.group.Err() == nil && !s.refused.Load() && !s.full.Load(),
	}
}

// WALBytes returns the size of the write-ahead log, as a file, 0 if there is none.
func (s *Store) WALBytes() int64 {
	info, err := os.Stat(s.path + "-wal") //nolint:gosec // the operator chose the path
	if err != nil {
		return 0
	}
	return info.Size()
}
