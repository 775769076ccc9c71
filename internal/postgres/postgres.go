// Package postgres stores everything in a PostgreSQL database that several nodes
// share: it provides connections, commits and migrations, and package store the
// operations. Charges have a statement of their own here, which is one round trip.
//
// Each node commits the queued categories as one group, in one transaction (engine.go).
// Every transaction that takes a revision locks the counter's row first and keeps it until
// the commit, so that on all nodes together revisions, ids and commits are in one order, and
// "everything after revision R" can skip nothing; what it reads of idempotency keys is
// complete, and the audit entries are one chain.
//
// It keeps no state in a session, so that a pooler may give each transaction
// another connection: what a transaction needs it sets for itself.
//
// It refuses, with a [petcat.UnusableError] that says what to do, a database of another
// environment, a newer schema, a standby, a server that does not sync its commits to
// the disk, settings that it cannot work with, and unsupported versions. What each SQLSTATE
// means is in failure.go.
//
// When the database is unavailable, everything fails with service_unavailable,
// within seconds at first and then immediately, and recovers by itself.
// The outcome of a write whose connection broke is unknown; it is never repeated
// here, and its error says that the caller may retry it with the same
// Idempotency-Key.
package postgres

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/groupcommit"
	"petcat/internal/store"
)

// Options says how to open a Store.
type Options struct {
	// URL is the address, such as postgres://user:password@host/database. TLS is
	// its sslmode, a list of hosts is tried in order.
	// Its pool_max_conns is how many connections there may be beside those that create
	// and charge, 8 by default: half of them are for writes.
	URL         petcat.Secret
	Environment petcat.Environment // "": that of the data; production for fresh data
	Clock       clock.Clock
	// MustExist says that a database without data is refused; without it, the
	// tables are made there.
	MustExist bool
	// Serving says that the caller is a server.
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
	// chargeConnections is how many calls of charge_quota a node has under way at most.
	chargeConnections = 2
)

// fullFor is how long a full disk is believed to be full after the last write that
// found it so. A write that needs no more room, such as a beat, says nothing.
const fullFor = 10 * time.Second

// Store keeps everything in one PostgreSQL database, which other nodes may use
// at the same time. It is safe for concurrent use.
type Store struct {
	*store.Store
	clock    clock.Clock
	life     context.Context //nolint:containedctx // that of creates, which belong to no single caller
	patience *patience
	settings string // a statement; see patience
	texts    texts
	group    *groupcommit.Committer[*store.Create]
	history  *history // of the database as it was opened

	readers, writers, creators, charges pool
	// Commits that wait for a standby say nothing about reads.
	reads, writes *breaker
	clockAhead    atomic.Int64                  // nanoseconds; see Stats
	fullAt        atomic.Pointer[clock.Reading] // when its disk was full the last time; nil: never
}

// Open connects to a database, and makes its schema, or brings it up to date if it
// may. It returns a [petcat.UnusableError] for one that cannot be used.
func Open(ctx context.Context, o Options) (*Store, error) {
	config, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	opening := cmp.Or(config.ConnConfig.ConnectTimeout, defaultConnectTimeout)
	if o.patience == nil {
		usual := newPatience(o.Serving, opening)
		o.patience = &usual
	}
	s := &Store{
		clock: o.Clock, life: ctx, patience: o.patience, settings: o.patience.settings(), history: &history{gone: make(chan struct{})},
		reads: &breaker{clock: o.Clock}, writes: &breaker{clock: o.Clock},
	}
	m, err := s.prepare(ctx, config.ConnConfig, opening, o)
	if err != nil {
		return nil, explain(err, place(config.ConnConfig))
	}
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, o.patience.connect)
	if err := s.connect(ctx, config, o); err != nil {
		return nil, err
	}
	s.Store = store.New(engine{s}, dialect(), m, o.Clock)
	s.start(o)
	return s, nil
}

// prepare checks the server and the schema, on a connection of its own that prepares no
// statements.
func (s *Store) prepare(ctx context.Context, config *pgx.ConnConfig, timeout time.Duration, o Options) (m store.Meta, err error) {
	once := config.Copy()
	once.ConnectTimeout = timeout
	once.DefaultQueryExecMode = pgx.QueryExecModeExec
	c, err := pgx.ConnectConfig(ctx, once)
	if err != nil {
		return m, err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if err := checkServer(ctx, c); err != nil {
		return m, err
	}
	if err := chooseMode(ctx, c, config, o.URL); err != nil {
		return m, err
	}
	if err := migrate(ctx, c, migrations(), o); err != nil {
		return m, err
	}
	if err := s.history.check(ctx, c.PgConn()); err != nil {
		return m, err
	}
	// In a transaction, which not every mode of a pooler allows.
	_, err = s.transaction(ctx, c, false, func(t *store.Tx) (err error) {
		m, err = store.ReadMeta(t, o.Environment, o.Clock.Read().Time())
		return err
	})
	return m, err
}

// connect makes the pools. After a switch, another server may be there: each connection is
// checked.
func (s *Store) connect(ctx context.Context, config *pgxpool.Config, o Options) (err error) {
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		if err := s.history.check(ctx, c.PgConn()); err != nil {
			return err
		}
		return checkServer(ctx, c)
	}
	size := defaultPoolSize
	if strings.Contains(o.URL.Reveal(), "pool_max_conns") {
		size = int(config.MaxConns)
	}
	for _, p := range []struct {
		into *pool
		size int
	}{{&s.readers, (size + 1) / 2}, {&s.writers, max(1, size/2)}, {&s.creators, createConnections}, {&s.charges, chargeConnections}} {
		if *p.into, err = newPool(ctx, config, o, p.size); err != nil {
			return err
		}
	}
	return nil
}

// start runs the writer.
func (s *Store) start(o Options) {
	s.group = groupcommit.New(groupcommit.Options[*store.Create]{
		Commit:  s.commit,
		Clock:   o.Clock,
		Observe: o.CommitObserved,
		Owner:   func(c *store.Create) uint64 { return uint64(c.Account) },
	})
}

// Close commits what is waiting and closes the connections. No other call may
// follow or be under way.
func (s *Store) Close() error {
	s.group.Close()
	for _, p := range s.pools() {
		p.Close()
	}
	return nil
}

func (s *Store) pools() []pool { return []pool{s.readers, s.writers, s.creators, s.charges} }

// Check asks the database how it is: whether it answers, whether it takes writes,
// whether it continues what was read of it, and what time it has. It returns what is wrong, as
// Open does.
// Whether a write is also committed in time is found out by Beat, without anybody's requests.
func (s *Store) Check(ctx context.Context) error {
	// True on a standby, too, and without writing.
	const query = `SELECT current_setting('transaction_read_only')::bool, (extract(epoch FROM clock_timestamp()) * 1000000)::int8`
	var readOnly bool
	err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var micros int64
		asked := s.clock.Read()
		if err := conn.QueryRow(ctx, query).Scan(&readOnly, &micros); err != nil {
			return err
		}
		// It looked at its clock at some moment between: the middle is wrong by half of
		// the time between at most.
		middle := asked.Time().Add(s.clock.Read().Since(asked) / 2)
		s.clockAhead.Store(int64(middle.Sub(time.UnixMicro(micros))))
		// Behind a pooler, another server may answer on the same connection.
		return s.history.check(ctx, conn.PgConn())
	})
	at := s.fullAt.Load()
	switch {
	case err != nil:
	case readOnly:
		err = &pgconn.PgError{Code: "25006", Message: "it is read-only"}
	case at != nil && s.clock.Read().Since(*at) < fullFor:
		err = &pgconn.PgError{Code: diskFull, Message: "no space left"}
	default:
		err = s.writes.err()
	}
	return translate(explain(err, place(s.readers.Config().ConnConfig)), "check the database")
}

// Stats is the state of a store for metrics.
type Stats struct {
	Waiting int    // creates in the queue
	Shed    uint64 // creates refused so far because too many waited
	// Connections to the database, and how many of them are in use.
	Connections, InUse int
	// ClockAhead is how far this machine's clock was ahead of the database's when that
	// was last asked; negative: behind.
	ClockAhead time.Duration
}

// Stats returns the state of the store.
func (s *Store) Stats() Stats {
	stats := Stats{Waiting: s.group.Waiting(), Shed: s.group.Shed(), ClockAhead: time.Duration(s.clockAhead.Load())}
	for _, p := range s.pools() {
		stats.Connections += int(p.Stat().TotalConns())
		stats.InUse += int(p.Stat().AcquiredConns())
	}
	return stats
}
