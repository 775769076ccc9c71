package postgres

import (
	"context"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
	"petcat/internal/pgpooler"
	"petcat/internal/store"
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
	// 0: pool_max_conns of the URL, or else 8. Lists share one query, so a few
	// are enough for lookups of keys.
	PoolSize int

	patience *patience // nil: newPatience
}

const defaultPoolSize = 8

// Store keeps everything in one PostgreSQL database, which other nodes may use
// at the same time. It is safe for concurrent use.
type Store struct {
	*store.Store
	clock  clock.Clock
	logger *slog.Logger
	writer *writer
	group  *groupcommit.Committer[*store.Create]
	pool   *pool
	// charges has the connections of Charge.
	charges *pool
	// spentCleaned is when old counts were deleted last. Clean alone uses it.
	spentCleaned clock.Reading
	// history is that of the database as it was opened.
	history *history
	// clockAhead is how far our clock was ahead of the database's when it was last asked,
	// in nanoseconds.
	clockAhead atomic.Int64

	background sync.WaitGroup
	stop       context.CancelFunc // ends the background
	close      func()             // closes once
}

// Open connects to a database, and makes its schema, or brings it up to date if it
// may. It returns an [openerror.Error] for one that cannot be used.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	config, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	if o.patience == nil {
		usual := newPatience()
		o.patience = &usual
	}
	if c := config.ConnConfig; c.ConnectTimeout == 0 || c.ConnectTimeout > o.patience.connect {
		c.ConnectTimeout = o.patience.connect
	}
	s, err := openStore(ctx, config, o)
	if err != nil {
		return nil, explain(err, place(config.ConnConfig))
	}
	return s, nil
}

func openStore(ctx context.Context, pool *pgxpool.Config, o Options) (*Store, error) {
	config := pool.ConnConfig
	h := newHistory()
	m, err := prepare(ctx, config, o, h)
	if err != nil {
		return nil, err
	}
	config.AfterConnect = h.check
	counting := pool.Copy()
	counting.MinConns = 0 // unless newPool raises it
	p, err := newPool(ctx, pool, o)
	if err != nil {
		return nil, err
	}
	o.PoolSize = chargeConnections
	charges, err := newPool(ctx, counting, o)
	if err != nil {
		p.close()
		return nil, err
	}
	s := &Store{clock: o.Clock, logger: o.Logger, pool: p, charges: charges, history: h, writer: newWriter(ctx, config, o, p)}
	s.Store = store.New(engine{s}, dialect(), m, o.Clock)
	s.start(ctx, o)
	return s, nil
}

// prepare checks the server, on a connection of its own, and the schema.
func prepare(ctx context.Context, config *pgx.ConnConfig, o Options, h *history) (store.Meta, error) {
	c, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return store.Meta{}, err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	newer, err := checkServer(ctx, c)
	if err != nil {
		return store.Meta{}, err
	}
	if newer != "" {
		o.Logger.WarnContext(ctx, "this version of PostgreSQL is newer than those that petcat was tested with", "version", newer)
	}
	if err := pgpooler.ChooseMode(ctx, c, config, o.URL); err != nil {
		return store.Meta{}, err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return store.Meta{}, err
	}
	if err := migrate(ctx, c, files, config, o); err != nil {
		return store.Meta{}, err
	}
	if err := h.check(ctx, c.PgConn()); err != nil {
		return store.Meta{}, err
	}
	// The connection is used once, and a pooler may be between.
	fresh := conn{ctx: ctx, querier: c, texts: &texts{}, once: true}
	return store.ReadMeta(fresh, o.Environment, o.Clock.Read().Time())
}

// start runs the writer and, for a server, the cleaning.
func (s *Store) start(ctx context.Context, o Options) {
	s.group = groupcommit.New(groupcommit.Options[*store.Create]{
		Commit:  s.commit,
		Clock:   o.Clock,
		Observe: o.CommitObserved,
		Owner:   func(c *store.Create) uint64 { return uint64(c.Account) },
		Queue:   o.Queue,
	})
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if o.Serving {
		s.background.Go(func() { store.RunClean(ctx, s.logger, s.Clean) })
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
	s.charges.close()
	s.pool.close()
}

// Stats is the state of a store for metrics.
type Stats struct {
	Waiting int    // creates in the queue
	Shed    uint64 // creates refused so far because too many waited
	// Readable and Writable say whether the database answered a read when it was
	// last asked, and took a write.
	Readable, Writable bool
	// Connections of the pool, and how many of them are in use.
	Connections, InUse int
	// ClockAhead is how far this machine's clock was ahead of the database's when that
	// was last asked; negative: behind.
	ClockAhead time.Duration
}

// Stats returns the state of the store.
func (s *Store) Stats() Stats {
	p := s.pool.pool.Stat()
	return Stats{
		Waiting: s.group.Waiting(), Shed: s.group.Shed(),
		Readable: s.pool.reads.isClosed(), Writable: s.pool.writes.isClosed() && !s.pool.refusal.holds(),
		Connections: int(p.TotalConns()), InUse: int(p.AcquiredConns()),
		ClockAhead: time.Duration(s.clockAhead.Load()),
	}
}
