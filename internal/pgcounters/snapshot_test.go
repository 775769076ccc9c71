package pgcounters

import (
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/pgtest"
)

// openSnapshot sees one moment until it is rolled back, as petcat backup does.
func openSnapshot(t *testing.T, url string) (rollback func()) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	pgtest.Execute(t, conn, "SELECT count(*) FROM account")
	return func() { pgtest.Execute(t, conn, "ROLLBACK") }
}

// TestBesideASnapshot: the way to an account's last version does not grow with the
// versions that a snapshot keeps.
func TestBesideASnapshot(t *testing.T) {
	t.Parallel()
	const accounts, changes = 20, 400
	url := database(t, server.Server(t))
	c := node(t, url)
	c.calls = unhurried()
	epoch := probe(t, c)
	ready(t, c, epoch, accounts)
	defer openSnapshot(t, url)()
	for range changes {
		if _, err := c.Charge(t.Context(), 0, epoch, charges(accounts)); err != nil {
			t.Fatal(err)
		}
	}
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "SET enable_seqscan = off")
	ids := columnOf(charges(accounts), func(c counters.Charge) int64 { return int64(c.Account) })
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+lock, pgx.QueryExecModeExec, ids).Scan(&plan)
	if err != nil {
		t.Fatal(err)
	}
	// A page has room for some 50 versions, of accounts that are charged together of
	// two or three each.
	if each := (plan[0].Plan.Hit + plan[0].Plan.Read) / accounts; each > changes/40 {
		t.Errorf("%d pages are read for an account after %d changes", each, changes)
	} else {
		t.Logf("%d pages are read for an account after %d changes", each, changes)
	}
}

// charges returns one of each of the first accounts.
func charges(accounts int) []counters.Charge {
	all := make([]counters.Charge, accounts)
	for i := range all {
		all[i] = spend(petcat.AccountID(i + 1))
	}
	return all
}

// snapshotVariable is for how long TestTortureSnapshot keeps a snapshot.
const snapshotVariable = "PETCAT_TORTURE_SNAPSHOT"

// TestTortureSnapshot charges at full rate beside a snapshot, as long as a large
// backup takes: the rate of the last quarter is near the first one's, and what the
// snapshot has kept is used again afterwards.
func TestTortureSnapshot(t *testing.T) {
	lasting, err := time.ParseDuration(os.Getenv(snapshotVariable))
	if err != nil {
		t.Skipf("%s says for how long, such as 10m", snapshotVariable)
	}
	// What ten minutes keep fits in it: what does not has to be read and written, which costs
	// two fifths of the rate (docs/scaling.md) and says nothing about the way to a row.
	url := database(t, pgtest.New(t, pgtest.Options{Settings: map[string]string{"shared_buffers": "3GB"}}))
	nodes := []*Counters{node(t, url), node(t, url), node(t, url)}
	epoch := probe(t, nodes[0])
	ready(t, nodes[0], epoch, 10_000)
	conn := pgtest.Connect(t, url)
	rate := func(d time.Duration) float64 {
		var calls atomic.Int64
		var wg sync.WaitGroup
		began := time.Now()
		for _, c := range nodes {
			wg.Go(func() {
				for time.Since(began) < d {
					// The first accounts are in every call.
					all := append(charges(8), some(10_000-8, 56)...)
					for i := range all[8:] {
						all[8+i].Account += 8
					}
					rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
					if _, err := c.Charge(t.Context(), 0, epoch, all); err != nil {
						t.Errorf("charge: %v", err)
						return
					}
					calls.Add(1)
				}
			})
		}
		wg.Wait()
		var size int64
		if err := conn.QueryRow(t.Context(), "SELECT pg_total_relation_size('shared_count')").Scan(&size); err != nil {
			t.Fatal(err)
		}
		perSecond := float64(calls.Load()) / time.Since(began).Seconds()
		t.Logf("%.0f calls of 64 charges a second, %d MB", perSecond, size>>20)
		return perSecond
	}
	rollback := openSnapshot(t, url)
	first := rate(lasting / 4)
	rate(lasting / 4)
	rate(lasting / 4)
	last := rate(lasting / 4)
	rollback()
	if last < 0.8*first {
		t.Errorf("%.0f calls a second in the last quarter, %.0f in the first", last, first)
	}
	pgtest.Execute(t, conn, "VACUUM shared_count")
	rate(lasting / 4)
}
