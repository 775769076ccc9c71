// Package postgres stores everything in a PostgreSQL database that several nodes
// share: it provides connections, commits and migrations, and package store the
// operations. Charges are one statement here, with one round trip.
//
// Each node commits the queued creates as one group, in one transaction (engine.go).
// Every transaction that takes a revision locks the counter's row first and keeps the lock
// until the commit. So revisions, ids and commits are in one order on all nodes, "everything after
// revision R" is complete, the transaction sees all idempotency keys, and the audit entries are one
// chain.
//
// It does not keep state in a session, because a pooler may give each transaction another
// connection. Each transaction sets its own settings. Only for a connection without a pooler does it
// set how long the server keeps the session.
//
// It rejects a database of another environment, a standby, an unsupported version, a server
// that does not sync its commits to the disk, and other settings that it cannot work with. The
// error is a [petcat.UnusableError] with the remedy. failure.go lists the meaning of each SQLSTATE.
//
// While the database is unavailable, every operation fails with service_unavailable, within seconds at
// first and then immediately; it recovers automatically. If the connection of a write breaks, its outcome
// is unknown. The write is not retried here: its error says so.
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

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/groupcommit"
	"github.com/petcat-api/petcat/internal/store"
)

// Options are the options of a DB.
type Options struct {
	// URL is the address, such as postgres://user:password@host/database. Its hosts are tried
	// in order. Its pool_max_conns is the number of connections for reads and writes, half for each, 8 by
	// default. Creates and charges use additional connections.
	URL         petcat.Secret
	Environment petcat.Environment // "": the data's; production for fresh data
	Clock       clock.Clock
	// MustExist rejects a database without data; otherwise the tables are created.
	MustExist bool
	// Serving is true if the caller is a server.
	Serving bool
	// CommitObserved, if not nil, is called with the size of each group of creates and the
	// duration of its commit.
	CommitObserved func(group int, d time.Duration)

	timeouts *timeouts // nil: newTimeouts
}

const (
	defaultPoolSize = 8
	// createConnections is one, because one group of creates is committed at a time.
	createConnections = 1
	// chargeConnections is the maximum number of concurrent calls of charge_quota.
	chargeConnections = 2
)

// fullFor is how long the disk counts as full after the last disk-full error. Other writes may succeed on
// a full disk.
const fullFor = 10 * time.Second

// DB is a PostgreSQL database, which other nodes may use at the same time, and a [store.DB]. It is
// safe for concurrent use.
type DB struct {
	meta     store.Meta
	clock    clock.Clock
	life     context.Context //nolint:containedctx // of groups of creates, which have several callers
	timeouts *timeouts
	settings string // a statement, see timeouts.settings
	line     *groupcommit.Line
	group    *groupcommit.Committer[*store.Create]
	history  *history

	readers, writers, creators, charges pool
	// Reads work while commits wait for a standby.
	reads, writes *breaker
	clockAhead    atomic.Int64                  // nanoseconds; see Stats
	fullAt        atomic.Pointer[clock.Reading] // when a write last failed for a full disk; nil: never
	waitedAt      atomic.Pointer[clock.Reading] // when a call last timed out; nil: never
	obstacle      atomic.Pointer[obstacle]      // the last one; nil: none yet
}

// Open connects to a database, and creates or migrates its schema. It returns a
// [petcat.UnusableError] for a database that cannot be used.
func Open(ctx context.Context, o Options) (*DB, error) {
	config, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	opening := cmp.Or(config.ConnConfig.ConnectTimeout, defaultConnectTimeout)
	if o.timeouts == nil {
		usual := newTimeouts(o.Serving, opening)
		o.timeouts = &usual
	}
	s := &DB{
		clock: o.Clock, life: ctx, timeouts: o.timeouts, settings: o.timeouts.settings(), history: &history{changed: make(chan struct{})},
		reads: &breaker{clock: o.Clock}, writes: &breaker{clock: o.Clock},
	}
	if s.meta, err = s.prepare(ctx, config.ConnConfig, opening, o); err != nil {
		return nil, explain(err, place(config.ConnConfig))
	}
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, o.timeouts.connect)
	if err := s.connect(ctx, config, o); err != nil {
		return nil, err
	}
	s.start(o)
	return s, nil
}

// prepare checks the server and migrates the schema, on a separate connection without prepared
// statements.
func (s *DB) prepare(ctx context.Context, config *pgx.ConnConfig, timeout time.Duration, o Options) (m store.Meta, err error) {
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
	// The transaction shows whether the pooler's mode allows one.
	err = s.alone(ctx, c, false, func(t *store.Tx) (err error) {
		m, err = store.ReadMeta(t, o.Environment, o.Clock.Read().Time())
		return err
	})
	return m, err
}

// connect creates the pools. Each new connection is checked, because it may be to another server
// after a failover.
func (s *DB) connect(ctx context.Context, config *pgxpool.Config, o Options) (err error) {
	size := defaultPoolSize
	if strings.Contains(o.URL.Reveal(), "pool_max_conns") {
		size = int(config.MaxConns)
	}
	for _, p := range []struct {
		into *pool
		size int
	}{{&s.readers, (size + 1) / 2}, {&s.writers, max(1, size/2)}, {&s.creators, createConnections}, {&s.charges, chargeConnections}} {
		check := s.history.check
		if p.into == &s.writers {
			check = s.history.checkWriter
		}
		config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
			if err := check(ctx, c.PgConn()); err != nil {
				return err
			}
			if err := setSession(ctx, c, o.Serving); err != nil {
				return err
			}
			return checkServer(ctx, c)
		}
		if *p.into, err = newPool(ctx, config, o, p.size); err != nil {
			return err
		}
	}
	return nil
}

// start starts the group commit.
func (s *DB) start(o Options) {
	s.line = groupcommit.NewLine(groupcommit.DefaultLine)
	s.group = groupcommit.New(groupcommit.Options[*store.Create]{
		Commit:  s.commit,
		Line:    s.line,
		Clock:   o.Clock,
		Observe: o.CommitObserved,
		Owner:   func(c *store.Create) uint64 { return uint64(c.Account) },
	})
}

// Meta implements [store.DB].
func (s *DB) Meta() store.Meta { return s.meta }

// Close commits the queued creates and closes the connections. Other calls must not run during or after
// it.
func (s *DB) Close() error {
	s.group.Close()
	for _, p := range s.pools() {
		p.Close()
	}
	return nil
}

func (s *DB) pools() []pool { return []pool{s.readers, s.writers, s.creators, s.charges} }

// Check checks whether the database responds, accepts writes and has the same history as before,
// and reads its clock. It returns the same errors as Open. It does not write: the node's heartbeats
// show whether writes are committed in time.
func (s *DB) Check(ctx context.Context) error {
	// transaction_read_only is also on in a standby.
	const query = `SELECT current_setting('transaction_read_only')::bool, (extract(epoch FROM clock_timestamp()) * 1000000)::int8`
	var readOnly bool
	err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var micros int64
		asked := s.clock.Read()
		if err := conn.QueryRow(ctx, query).Scan(&readOnly, &micros); err != nil {
			return err
		}
		// It read its clock between the two readings here, so the midpoint is wrong by at most half of
		// the time between them.
		middle := asked.Time().Add(s.clock.Read().Since(asked) / 2)
		s.clockAhead.Store(int64(middle.Sub(time.UnixMicro(micros))))
		// Behind a pooler, the same connection may lead to another server.
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
		err = cmp.Or(s.obstructed(ctx), s.writes.err())
	}
	return translate(explain(err, place(s.readers.Config().ConnConfig)), "check the database")
}

// Stats is the state of a DB for metrics.
type Stats struct {
	Waiting int    // creates in the queue
	Shed    uint64 // creates rejected so far because the queue was full
	// Connections is the number of connections to the database; InUse of them are in use.
	Connections, InUse int
	// ClockAhead is how far this machine's clock was ahead of the database's clock at the
	// last Check; negative: behind.
	ClockAhead time.Duration
}

// Stats returns the state of the store.
func (s *DB) Stats() Stats {
	stats := Stats{Waiting: s.line.Waiting(), Shed: s.line.Shed(), ClockAhead: time.Duration(s.clockAhead.Load())}
	for _, p := range s.pools() {
		stats.Connections += int(p.Stat().TotalConns())
		stats.InUse += int(p.Stat().AcquiredConns())
	}
	return stats
}
