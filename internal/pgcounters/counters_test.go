package pgcounters

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/pgtest"
	"petcat/internal/stalltest"
)

// TestServersClock: without a clock of the test's, the facts are of the server's time.
func TestServersClock(t *testing.T) {
	t.Parallel()
	c := node(t, database(t, server.Server(t)))
	before := time.Now()
	epoch, probed, err := c.Probe(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := c.Charge(t.Context(), 0, epoch, []counters.Charge{spend(1)})
	if err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	moments := []int64{before.Truncate(time.Microsecond).UnixNano(), epoch.Began, probed, facts[0].Now, after.UnixNano()}
	if !slices.IsSorted(moments) {
		t.Errorf("before, began, probed, charged, after: %d", moments)
	}
}

// TestOverlappingCalls: calls of several nodes that take the same accounts in any
// order end, and admit exactly what there is.
func TestOverlappingCalls(t *testing.T) {
	t.Parallel()
	const accounts, quota, calls = 40, 150, 60
	url := database(t, server.Server(t))
	nodes := []*Counters{node(t, url), node(t, url), node(t, url)}
	for _, c := range nodes {
		c.now = func() int64 { return time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC).UnixNano() }
	}
	epoch := probe(t, nodes[0])
	ready(t, nodes[0], epoch, accounts)
	var admitted [accounts + 1]atomic.Int64
	var wg sync.WaitGroup
	for _, c := range slices.Repeat(nodes, 2) {
		wg.Go(func() {
			for range calls {
				var charges []counters.Charge
				for _, at := range rand.Perm(accounts) {
					if rand.IntN(4) == 0 {
						continue
					}
					charge := spend(petcat.AccountID(at + 1))
					charge.PerMinute = quota
					charges = append(charges, charge)
				}
				facts, err := c.Charge(t.Context(), 0, epoch, charges)
				if err != nil {
					t.Errorf("charge: %v", err)
					return
				}
				for i, f := range facts {
					admitted[charges[i].Account].Add(f.Admitted)
				}
			}
		})
	}
	wg.Wait()
	for id := 1; id <= accounts; id++ {
		if got := admitted[id].Load(); got != quota {
			t.Errorf("account %d: %d admitted, want %d", id, got, quota)
		}
	}
}

// TestNewAccounts: nodes that charge accounts for the first time all at once make one
// row for each.
func TestNewAccounts(t *testing.T) {
	t.Parallel()
	const accounts, each = 100, 3
	url := database(t, server.Server(t))
	nodes := []*Counters{node(t, url), node(t, url)}
	epoch := probe(t, nodes[0])
	var wg sync.WaitGroup
	for _, c := range slices.Repeat(nodes, 3) {
		wg.Go(func() {
			var charges []counters.Charge
			for _, at := range rand.Perm(accounts) {
				charge := spend(petcat.AccountID(at + 1))
				charge.Reported, charge.Minute = each, petcat.Minute.Index(time.Now().Unix())
				charges = append(charges, charge)
			}
			if _, err := c.Charge(t.Context(), 0, epoch, charges); err != nil {
				t.Errorf("charge: %v", err)
			}
		})
	}
	wg.Wait()
	var rows int
	if err := pgtest.Connect(t, url).QueryRow(t.Context(), "SELECT count(*) FROM shared_count").Scan(&rows); err != nil || rows != accounts {
		t.Errorf("%d rows, %v; want %d", rows, err, accounts)
	}
}

// TestServerFails: what a server of the test's own does that hangs, stops and crashes.
func TestServerFails(t *testing.T) {
	t.Parallel()
	pg := pgtest.New(t, pgtest.Options{})
	url := database(t, pg)
	c, other := node(t, url), node(t, url)
	epoch := probe(t, c)
	ready(t, c, epoch, 1)
	restart := func() {
		t.Helper()
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitProbe(t, c)
		awaitProbe(t, other)
	}

	// It hangs: calls end with their context.
	pg.Suspend()
	control := stalltest.Start(t)
	control.Repeat(func() {
		control.Measure("calls of 50 ms", 100*time.Millisecond, func() {
			var wg sync.WaitGroup
			for range 3 * connections {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
					defer cancel()
					if _, err := c.Charge(ctx, 0, epoch, []counters.Charge{spend(1)}); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("charge: %v, want the end of the context", err)
					}
				})
			}
			wg.Wait()
		})
		// Their connections are closed after a while, and others are made in their place.
		control.Measure("to give up connections", hungAfter+100*time.Millisecond, func() {
			for began := time.Now(); c.pool.Stat().AcquiredConns() > 0; time.Sleep(10 * time.Millisecond) {
				if time.Since(began) > 10*hungAfter {
					t.Fatal("connections are not given up")
				}
			}
		})
	})
	pg.Resume()
	awaitProbe(t, c)

	// It is restarted in order: nothing is lost.
	pg.Stop()
	restart()
	if now := probe(t, other); now != epoch {
		t.Errorf("epoch %v after a restart, was %v", now, epoch)
	}
	if facts, err := c.Charge(t.Context(), 0, epoch, []counters.Charge{spend(1)}); err != nil || facts[0].Admitted != 1 {
		t.Errorf("charge after a restart: %+v, %v", facts, err)
	}

	// It crashes: a new epoch begins.
	pg.Kill()
	restart()
	_, err := c.Charge(t.Context(), 0, epoch, []counters.Charge{spend(1)})
	wrong, ok := errors.AsType[*counters.WrongEpoch](err)
	if !ok || wrong.Now.ID == epoch.ID {
		t.Fatalf("charge after a crash: %v, want another epoch", err)
	}
	if now := probe(t, other); now != wrong.Now {
		t.Errorf("another node knows the epoch %v, want %v", now, wrong.Now)
	}
	facts, err := other.Charge(t.Context(), 0, wrong.Now, []counters.Charge{spend(1)})
	if err != nil || facts[0].Day.Known {
		t.Errorf("charge in the new epoch: %+v, %v; want a day that nobody knows", facts, err)
	}
}

// awaitProbe waits until a server that was unavailable answers.
func awaitProbe(t *testing.T, c *Counters) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		if _, _, err := c.Probe(ctx, 0); err == nil {
			return
		} else if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestLockedRow: who keeps an account keeps nobody else's, and a call that waits for
// it ends with its context.
func TestLockedRow(t *testing.T) {
	t.Parallel()
	url := database(t, server.Server(t))
	c := node(t, url)
	epoch := probe(t, c)
	ready(t, c, epoch, 3)
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "BEGIN; SELECT FROM shared_count WHERE account_id = 2 FOR UPDATE")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.Charge(ctx, 0, epoch, []counters.Charge{spend(1), spend(2)}); err == nil || ctx.Err() == nil {
		t.Errorf("charge of a locked account: %v after %s, want the end of the context", err, time.Since(began))
	}
	if _, err := c.Charge(t.Context(), 0, epoch, []counters.Charge{spend(3)}); err != nil {
		t.Errorf("charge of another account: %v", err)
	}
	// What was sent of the call before it was given up waits for the lock a little longer.
	pgtest.Execute(t, conn, `DO $$ BEGIN
		WHILE EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()) LOOP
			PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
		END LOOP; END $$`)
	pgtest.Execute(t, conn, "ROLLBACK")
	facts, err := c.Charge(t.Context(), 0, epoch, []counters.Charge{spend(2), spend(1)})
	if err != nil || facts[0].MinuteUsed != 1 || facts[1].MinuteUsed != 1 {
		t.Errorf("charge afterwards: %+v, %v; want nothing of the one that was given up", facts, err)
	}
}

// TestLateCalls: a call that ends before it is answered leaves its connection to others.
func TestLateCalls(t *testing.T) {
	t.Parallel()
	url := database(t, server.Server(t))
	c := node(t, url)
	epoch := probe(t, c)
	ready(t, c, epoch, 1)
	conn := pgtest.Connect(t, url)
	backends := func() (pids []int32) {
		const query = "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petcat counters'"
		if err := conn.QueryRow(t.Context(), query).Scan(&pids); err != nil {
			t.Fatal(err)
		}
		return pids
	}
	before := backends()
	for began := time.Now(); len(before) < connections; before = backends() {
		if time.Since(began) > 10*startTimeout {
			t.Fatalf("a node begins with %d connections, want %d", len(before), connections)
		}
	}
	pgtest.Execute(t, conn, "BEGIN; SELECT FROM shared_count FOR UPDATE")
	for range 3 * connections {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := c.Charge(ctx, 0, epoch, []counters.Charge{spend(1)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("charge: %v, want the end of the context", err)
		}
		cancel()
	}
	pgtest.Execute(t, conn, "ROLLBACK")
	if _, err := c.Charge(t.Context(), 0, epoch, []counters.Charge{spend(1)}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, backends()); diff != "" {
		t.Errorf("connections of the node before and after (-want +got):\n%s", diff)
	}
}

// TestFewRights: a role that may read and write rows can do everything.
func TestFewRights(t *testing.T) {
	t.Parallel()
	url := database(t, server.Server(t))
	owner := pgtest.Connect(t, url)
	pgtest.Execute(t, owner, `CREATE ROLE node_of_petcat LOGIN;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO node_of_petcat`)
	t.Cleanup(func() { pgtest.Execute(t, owner, "DROP OWNED BY node_of_petcat; DROP ROLE node_of_petcat") })
	c := node(t, strings.Replace(url, "user=petcat", "user=node_of_petcat", 1))
	ready(t, c, probe(t, c), 2)
	if _, err := c.ShareRetries(t.Context(), 0, "a", []counters.KeyRetries{{Key: 1, Retries: 1}}); err != nil {
		t.Error(err)
	}
}

// TestBehindAPooler: nothing is kept in a session.
func TestBehindAPooler(t *testing.T) {
	t.Parallel()
	url := database(t, server.Server(t))
	address, pooler := pgtest.StartPooler(t, url)
	pooled := pgtest.ByTCP(url, address)
	nodes := []*Counters{node(t, pooled), node(t, pooled)}
	epoch := probe(t, nodes[0])
	ready(t, nodes[0], epoch, 20)
	var wg sync.WaitGroup
	for _, c := range slices.Repeat(nodes, 3) {
		wg.Go(func() {
			for range 30 {
				if _, err := c.Charge(t.Context(), 0, epoch, some(20, 5)); err != nil {
					t.Errorf("charge: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if n := pooler.Switches(); n < 30 {
		t.Errorf("only %d transactions ran on another connection: the test is blind", n)
	}
	var left string
	err := pgtest.Connect(t, url).QueryRow(t.Context(), "SELECT current_setting('lock_timeout')").Scan(&left)
	if err != nil || left != "0" {
		t.Errorf("lock_timeout is %q, %v", left, err)
	}
}

// TestModeOfTheAddress: behind a pooler nothing is prepared for a session, unless the address
// says how statements are sent.
func TestModeOfTheAddress(t *testing.T) {
	t.Parallel()
	url := database(t, server.Server(t))
	address, _ := pgtest.StartPooler(t, url)
	pooled := pgtest.ByTCP(url, address)
	for _, c := range []struct {
		name, url string
		want      pgx.QueryExecMode
	}{
		{"direct", url, pgx.QueryExecModeCacheStatement},
		{"behind a pooler", pooled, pgx.QueryExecModeExec},
		{"behind a pooler, chosen", pooled + "&default_query_exec_mode=cache_describe", pgx.QueryExecModeCacheDescribe},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := node(t, c.url)
			if got := n.pool.Config().ConnConfig.DefaultQueryExecMode; got != c.want {
				t.Errorf("statements are sent in the mode %s, want %s", got, c.want)
			}
			ready(t, n, probe(t, n), 20)
		})
	}
}

// TestErrorsKeepTheAddress: an address that cannot be read is not repeated.
func TestErrorsKeepTheAddress(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:secret@host:port/x", "postgres://u:secret@127.0.0.1:1/x"} {
		_, err := New(t.Context(), Options{URL: petcat.NewSecret(url)})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("New: %v", err)
		}
	}
}
