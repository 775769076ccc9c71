package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"petcat"
	"petcat/internal/claim"
	"petcat/internal/cleaner"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
)

// Options says how to open a Store.
type Options struct {
	// URL is the address, such as postgres://user:password@host/database. TLS is
	// its sslmode, a list of hosts is tried in order.
	URL         petcat.Secret
	Environment petcat.Environment // "": that of the data; production for fresh data
	Clock       clock.Clock
	Logger      *slog.Logger // nil: no log
	// Migrate says that an older schema is brought up to date; without it, data
	// that has one is refused.
	Migrate bool
	// MustExist says that a database without data is refused; without it, the
	// tables are made there.
	MustExist bool
	// Serving says that the caller is a server: it cleans up in the background.
	Serving bool
	// CommitObserved, when set, is told the size of each group of creates and how
	// long it took.
	CommitObserved func(group int, d time.Duration)
	// Queue is how many creates may wait; 0: groupcommit.DefaultQueue.
	Queue int
	// PoolSize is how many connections there may be beside the one that creates;
	// 0: pool_max_conns of the URL, or else 8. Lists share one question, so a few
	// are enough for lookups of keys.
	PoolSize int
}

const defaultPoolSize = 8

// Store keeps everything in one PostgreSQL database, which other nodes may use
// at the same time. It is safe for concurrent use.
type Store struct {
	meta   meta
	clock  clock.Clock
	logger *slog.Logger
	writer *writer
	group  *groupcommit.Committer[*createOp]
	pool   *pool
	claims claim.Set
	// silence is how long the database may be silent during a copy.
	silence time.Duration

	background sync.WaitGroup
	stop       context.CancelFunc // ends the background
	close      func()             // closes once
}

// Open connects to a database, and makes its schema, or brings it up to date if it
// may. It returns an [OpenError] for one that cannot be used.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	config, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	s, err := openStore(ctx, config, o)
	if err != nil {
		return nil, explain(err, place(config.ConnConfig))
	}
	return s, nil
}

func openStore(ctx context.Context, pool *pgxpool.Config, o Options) (*Store, error) {
	config := pool.ConnConfig
	m, err := prepare(ctx, config, o)
	if err != nil {
		return nil, err
	}
	p, err := newPool(ctx, pool, o)
	if err != nil {
		return nil, err
	}
	s := &Store{meta: m, clock: o.Clock, logger: o.Logger, pool: p, silence: copySilence, writer: newWriter(ctx, config, o.Clock, p.writes, &p.refusal)}
	s.start(ctx, o)
	return s, nil
}

// prepare checks the server, on a connection of its own, and the schema.
func prepare(ctx context.Context, config *pgx.ConnConfig, o Options) (meta, error) {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return meta{}, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	newer, err := checkServer(ctx, conn)
	if err != nil {
		return meta{}, err
	}
	if newer != "" {
		o.Logger.WarnContext(ctx, "this version of PostgreSQL is newer than those that petcat was tested with", "version", newer)
	}
	if err := chooseMode(ctx, conn, config, o.URL); err != nil {
		return meta{}, err
	}
	if err := migrate(ctx, conn, config, o); err != nil {
		return meta{}, err
	}
	return readMeta(ctx, conn, o.Environment, o.Clock.Read().Time())
}

// start runs the writer and, for a server, the cleaning.
func (s *Store) start(ctx context.Context, o Options) {
	s.group = groupcommit.New(groupcommit.Options[*createOp]{
		Commit:  s.commit,
		Clock:   o.Clock,
		Observe: o.CommitObserved,
		Owner:   func(o *createOp) uint64 { return uint64(o.Account) },
		Queue:   o.Queue,
	})
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if o.Serving {
		s.background.Go(func() { cleaner.Run(ctx, s.logger, s.cleanNow) })
	}
	s.close = sync.OnceFunc(s.shut)
}

// Close commits what is waiting and closes the connections. No other call may
// follow or be under way.
func (s *Store) Close() error {
	s.close()
	return nil
}

func (s *Store) shut() {
	s.stop()
	s.background.Wait()
	s.group.Close()
	s.writer.close()
	s.pool.close()
}

// Dataset returns the random name that this set of data was given when it was
// made.
func (s *Store) Dataset() string { return s.meta.dataset }

// Environment returns the environment that the data belongs to.
func (s *Store) Environment() petcat.Environment { return s.meta.environment }

// Stats is the state of a store for metrics.
type Stats struct {
	Waiting  int    // creates in the queue
	Capacity int    // how many may be
	Shed     uint64 // creates refused so far because too many waited
	// Readable and Writable say whether the database answered a read when it was
	// last asked, and took a write.
	Readable, Writable bool
	// Connections of the pool, and how many of them are in use; PoolWaiting is
	// how many callers wait for one.
	Connections, InUse, MaxConnections, PoolWaiting int
}

// Stats returns the state of the store.
func (s *Store) Stats() Stats {
	p := s.pool.pool.Stat()
	return Stats{
		Waiting: s.group.Waiting(), Capacity: s.group.Capacity(), Shed: s.group.Shed(),
		Readable: s.pool.reads.isClosed(), Writable: s.pool.writes.isClosed() && !s.pool.refusal.holds(),
		Connections: int(p.TotalConns()), InUse: int(p.AcquiredConns()), MaxConnections: int(p.MaxConns()),
		PoolWaiting: int(s.pool.waiting.Load()),
	}
}

// now returns the wall clock in the precision that is stored.
func now(c clock.Clock) time.Time { return c.Read().Time().Truncate(time.Millisecond) }

// fromMillis and millis convert moments; the zero time is NULL.
func fromMillis(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return time.UnixMilli(*ms).UTC()
}

func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

// stored returns a moment in the precision that is stored.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// found reports whether a row was read; an error other than its absence stays.
func found(err error) (bool, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
