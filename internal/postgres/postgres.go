package postgres

import (
	"context"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"petcat"
	"petcat/internal/breaker"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
	"petcat/internal/store"
)

// Options says how to open a Store.
type Options struct {
	// URL is the address, such as postgres://user:password@host/database. TLS is
	// its sslmode, a list of hosts is tried in order.
	// Its pool_max_conns is how many connections there may be beside those that create
	// and charge, 8 by default.
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

	patience *patience // nil: newPatience
}

const (
	defaultPoolSize = 8
	// createConnections is for the one group of creates that is committed at a time.
	createConnections = 1
)

// The pause of a breaker is long enough that a database that starts is not flooded with
// connections, and short enough that nobody notices it.
const pause = 250 * time.Millisecond

// Store keeps everything in one PostgreSQL database, which other nodes may use
// at the same time. It is safe for concurrent use.
type Store struct {
	*store.Store
	clock    clock.Clock
	logger   *slog.Logger
	life     context.Context //nolint:containedctx // that of creates, which belong to no single caller
	patience *patience
	texts    texts
	group    *groupcommit.Committer[*store.Create]
	// pool has the connections of everything but creates and Charge, which nothing else
	// delays.
	pool, creates, charges *pool
	reads, writes          *breaker.Breaker
	writing                chan struct{} // holds a place for each write that may have a connection of pool
	refusal                refusal
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
	given := config.ConnConfig.ConnectTimeout > 0
	if !given {
		config.ConnConfig.ConnectTimeout = defaultConnectTimeout
	}
	if o.patience == nil {
		usual := newPatience(o.Serving, config.ConnConfig.ConnectTimeout)
		o.patience = &usual
	}
	s := &Store{
		clock: o.Clock, logger: o.Logger, life: ctx, patience: o.patience, history: newHistory(), refusal: refusal{clock: o.Clock},
		reads: breaker.New(o.Clock, pause), writes: breaker.New(o.Clock, pause),
	}
	m, err := s.prepare(ctx, config.ConnConfig, o)
	if err != nil {
		return nil, explain(err, place(config.ConnConfig))
	}
	if o.Serving && !given {
		config.ConnConfig.ConnectTimeout = o.patience.connect
	}
	if err := s.connect(ctx, config, o); err != nil {
		return nil, err
	}
	s.Store = store.New(engine{s}, dialect(), m, o.Clock)
	s.start(ctx, o)
	return s, nil
}

// connect makes the pools. After a switch, another server may be there: each connection is
// checked.
func (s *Store) connect(ctx context.Context, config *pgxpool.Config, o Options) error {
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		if err := s.history.check(ctx, c.PgConn()); err != nil {
			return err
		}
		_, err := checkServer(ctx, c)
		return err
	}
	size := defaultPoolSize
	if strings.Contains(o.URL.Reveal(), "pool_max_conns") {
		size = int(config.MaxConns)
	}
	s.writing = make(chan struct{}, max(1, size/2))
	for _, p := range []struct {
		into **pool
		size int
	}{{&s.pool, size}, {&s.creates, createConnections}, {&s.charges, chargeConnections}} {
		made, err := newPool(ctx, config, o, p.size)
		if err != nil {
			return err
		}
		*p.into = made
	}
	return nil
}

// prepare checks the server, on a connection of its own, and the schema.
func (s *Store) prepare(ctx context.Context, config *pgx.ConnConfig, o Options) (store.Meta, error) {
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
	if err := chooseMode(ctx, c, config, o.URL); err != nil {
		return store.Meta{}, err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return store.Meta{}, err
	}
	if err := migrate(ctx, c, files, config, o); err != nil {
		return store.Meta{}, err
	}
	if err := s.history.check(ctx, c.PgConn()); err != nil {
		return store.Meta{}, err
	}
	// The connection is used once, and a pooler may be between.
	fresh := conn{ctx: ctx, querier: c, texts: &s.texts, once: true}
	return store.ReadMeta(fresh, o.Environment, o.Clock.Read().Time())
}

// start runs the writer and, for a server, the cleaning.
func (s *Store) start(ctx context.Context, o Options) {
	s.group = groupcommit.New(groupcommit.Options[*store.Create]{
		Commit:  s.commit,
		Clock:   o.Clock,
		Observe: o.CommitObserved,
		Owner:   func(c *store.Create) uint64 { return uint64(c.Account) },
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
	for _, p := range []*pool{s.creates, s.charges, s.pool} {
		p.close()
	}
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
	p := s.pool.Stat()
	return Stats{
		Waiting: s.group.Waiting(), Shed: s.group.Shed(),
		Readable: s.reads.Err() == nil, Writable: s.writes.Err() == nil && !s.refusal.holds(),
		Connections: int(p.TotalConns()), InUse: int(p.AcquiredConns()),
		ClockAhead: time.Duration(s.clockAhead.Load()),
	}
}
