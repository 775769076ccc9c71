package pgcounters

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/counterstest"
	"petcat/internal/pgtest"
	"petcat/internal/postgres"
)

// server is shared by the tests that do not hurt it.
var server pgtest.Shared

func TestMain(m *testing.M) { server.Main(m) }

// database makes a database with petcat's tables, and returns its URL.
func database(t testing.TB, on *pgtest.Server) string {
	t.Helper()
	url := on.Database(t)
	store, err := postgres.Open(t.Context(), postgres.Options{URL: petcat.NewSecret(url), Clock: clock.NewSystem()})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return url
}

// node returns the counters as a node has them.
func node(t testing.TB, url string) *Counters {
	t.Helper()
	c, err := New(t.Context(), Options{URL: petcat.NewSecret(url)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// unhurried returns room for all calls of a test.
func unhurried() chan struct{} { return make(chan struct{}, 1<<20) }

func probe(t testing.TB, c *Counters) counters.Epoch {
	t.Helper()
	epoch, _, err := c.Probe(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

const empty = "WITH a AS (DELETE FROM shared_epoch), b AS (DELETE FROM shared_count) DELETE FROM shared_retry"

// TestCounters runs the suite on the server's clock, and on one of the test's.
func TestCounters(t *testing.T) {
	url := database(t, server.Server(t))
	conn := pgtest.Connect(t, url)
	var now atomic.Int64
	a, b := node(t, url), node(t, url)
	for _, c := range []*Counters{a, b} {
		c.now, c.calls = now.Load, unhurried()
	}
	counterstest.Run(t, func(t *testing.T) counterstest.Setup {
		t.Helper()
		pgtest.Execute(t, conn, empty)
		now.Store(time.Date(2026, 3, 1, 0, 0, 0, rand.IntN(1e9), time.UTC).UnixNano())
		return counterstest.Setup{
			Nodes: [2]counters.Counters{a, b},
			Step:  func(by time.Duration) { now.Add(int64(by)) },
			Empty: func(int) { pgtest.Execute(t, conn, empty) },
		}
	}, 500)
}
