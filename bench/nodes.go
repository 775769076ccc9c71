package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/postgres"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// The smallest program that counts requests in PostgreSQL: one statement per request, as cheap as
// petcat's, and like petcat's not crash-safe. Its windows do not reset.
const (
	countTable = `CREATE UNLOGGED TABLE counted (
		account bigint PRIMARY KEY, minute_used bigint NOT NULL, day_used bigint NOT NULL
	) WITH (fillfactor = 50);
	INSERT INTO counted SELECT i, 0, 0 FROM generate_series(1, 1000) AS i`
	countOne = "\\set account random(1, 1000)\n" +
		"UPDATE counted SET minute_used = minute_used + 1, day_used = day_used + 1 " +
		"WHERE account = :account AND minute_used < 1000000000000 AND day_used < 1000000000000 " +
		"RETURNING minute_used, day_used"
)

// decisions compares limiters that count in PostgreSQL with the database's upper bound: a statement
// without work.
func (b *bench) decisions(ctx context.Context) error {
	db, err := b.startPostgres(ctx)
	if err != nil {
		return err
	}
	s, err := startSenders(ctx, db.url, 1000)
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := db.conn.Exec(ctx, countTable); err != nil {
		return err
	}
	all, err := b.interleave(ctx,
		s.subject("several nodes: decisions, 1,000 accounts"),
		db.pgbench("SELECT 1", "SELECT 1"),
		db.pgbench("one statement a request", countOne),
	)
	if err != nil {
		return err
	}
	b.report.compare(all[0], "SELECT 1, pgbench", all[1], atLeast(0.6))
	b.report.compare(all[0], "one statement a request, pgbench", all[2], bound{})
	return nil
}

// snapshot compares the decision rate of one account before and after a snapshot is held open for three
// minutes.
func (b *bench) snapshot(ctx context.Context) error {
	db, err := b.startPostgres(ctx)
	if err != nil {
		return err
	}
	s, err := startSenders(ctx, db.url, 1)
	if err != nil {
		return err
	}
	defer s.close()
	before, err := b.interleave(ctx, s.subject("several nodes: decisions, one busy account"))
	if err != nil {
		return err
	}
	if _, err := db.conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM spent"); err != nil {
		return err
	}
	held := 3 * time.Minute
	if b.quick {
		held = 20 * time.Second
	}
	say("   a snapshot is held open for %s", held)
	if _, err := s.run(ctx, held); err != nil {
		return err
	}
	after, err := b.interleave(ctx, s.subject(fmt.Sprintf("several nodes: decisions, a snapshot open for %s", held)))
	if err != nil {
		return err
	}
	b.report.compare(after[0], "before it", before[0], atLeast(0.8))
	return nil
}

// senders are 64 goroutines that call the limiters of two nodes.
type senders struct {
	accounts int
	stores   [2]*postgres.DB
	limiters [2]*ratelimit.Limiter
}

func startSenders(ctx context.Context, url string, accounts int) (*senders, error) {
	s := &senders{accounts: accounts}
	for i := range s.stores {
		store, err := postgres.Open(ctx, postgres.Options{URL: petcat.NewSecret(url), Clock: clock.NewSystem()})
		if err != nil {
			return nil, err
		}
		s.stores[i] = store
		s.limiters[i] = ratelimit.New(ratelimit.Options{
			Clock: clock.NewSystem(), Counters: store, BanMode: petcat.BansOff, Logger: slog.New(slog.DiscardHandler),
		})
	}
	return s, nil
}

func (s *senders) close() {
	for i := range s.stores {
		s.limiters[i].Close()
		_ = s.stores[i].Close() // the server is removed anyway
	}
}

func (s *senders) subject(name string) subject { return subject{name, "/s", s.run} }

// run sends requests for d and returns the rate of requests that PostgreSQL allowed.
func (s *senders) run(ctx context.Context, d time.Duration) (float64, error) {
	var allowed atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	local := s.local()
	begun := time.Now()
	for i := range connections {
		l := s.limiters[i%len(s.limiters)]
		all.Go(func() {
			for time.Since(begun) < d {
				id := rand.IntN(s.accounts) + 1
				got, err := l.Spend(ctx, ratelimit.Charge{
					Account: petcat.AccountID(id),
					Key:     petcat.KeyID(id),
					Quota:   petcat.Quota{PerMinute: 1e12, PerDay: 1e12},
				})
				if err != nil {
					failed.Store(&err)
				} else if got.Outcome == ratelimit.Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	all.Wait()
	n := allowed.Load() - (s.local() - local)
	if err := failed.Load(); err != nil {
		say("   some requests failed, for example: %v", *err)
	}
	return float64(n) / time.Since(begun).Seconds(), nil
}

// local returns the number of requests decided from memory so far.
func (s *senders) local() int64 {
	return int64(s.limiters[0].Local.Load() + s.limiters[1].Local.Load())
}

// nodesList compares list requests to a node that counts every request in PostgreSQL with list
// requests to a node on SQLite.
func (b *bench) nodesList(ctx context.Context) error {
	db, err := b.startPostgres(ctx)
	if err != nil {
		return err
	}
	n, err := b.node(ctx, "nodes-list", db.url, few)
	if err != nil {
		return err
	}
	one, err := b.node(ctx, "nodes-list-one", "", few)
	if err != nil {
		return err
	}
	all, err := b.interleave(ctx,
		b.wrk("several nodes: list of 10", n.list()),
		b.wrk("list of 10, one node on SQLite", one.list()),
	)
	if err != nil {
		return err
	}
	b.report.compare(all[0], "one node on SQLite", all[1], atLeast(0.5))
	return n.countedElsewhere(ctx)
}

// countedElsewhere returns an error if the node decided any request from memory.
func (n *node) countedElsewhere(ctx context.Context) error {
	a, err := request{method: "GET", url: n.admin + "/metrics", status: 200}.send(ctx)
	if err != nil {
		return err
	}
	local, err := number(`(?m)^petcat_limiter_local_total ([\d.e+]+)`)(string(a.body))
	if err == nil && local > 0 {
		err = fmt.Errorf("%.0f requests were decided from memory", local)
	}
	return err
}

// insertTable is petcat's category table with its indexes.
const insertTable = `CREATE TABLE bare (
	id          bigserial PRIMARY KEY,
	name        text COLLATE "C" NOT NULL,
	description text COLLATE "C",
	revision    bigserial NOT NULL,
	account_id  bigint NOT NULL,
	created_at  bigint NOT NULL,
	deleted_at  bigint
);
CREATE INDEX ON bare (revision)`

// nodesCreate compares durable creates on PostgreSQL with plain inserts of one row.
func (b *bench) nodesCreate(ctx context.Context) error {
	db, err := b.startPostgres(ctx)
	if err != nil {
		return err
	}
	n, err := b.node(ctx, "nodes-create", db.url, 0)
	if err != nil {
		return err
	}
	if _, err := db.conn.Exec(ctx, insertTable); err != nil {
		return err
	}
	insert := fmt.Sprintf(
		"INSERT INTO bare (name, description, account_id, created_at) VALUES ('Dogs 1', '%s', 1, 1800000000000)",
		description)
	all, err := b.interleave(ctx,
		b.wrk("several nodes: durable POST", n.create()),
		db.pgbench("inserts of one row", insert),
	)
	if err != nil {
		return err
	}
	b.report.compare(all[0], "inserts of one row, pgbench", all[1], atLeast(0.7))
	return n.countedElsewhere(ctx)
}
