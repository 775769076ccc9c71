package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/pgtest"
)

// soakVariable asks for TestSoak, for so many hours: make soak does.
const soakVariable = "PETCAT_SOAK_HOURS"

// heapStep is by how many bytes Go's heap grows at least.
const heapStep = 4 << 20

// soak is a cluster and a single node that are used for hours, and what was measured of
// them.
type soak struct {
	*cluster
	single  *server
	series  []*soakSeries
	answers map[int]*atomic.Int64    // by status
	done    map[string]*atomic.Int64 // what clients did, when it was answered
	started func(node int)           // tells the clients that a node was started again
}

// TestSoak: under a mixed load, with a node that is killed, a Redis that is restarted, a
// PostgreSQL that is killed or hangs, plans that change, bans and backups, nothing grows but
// the data: no memory, no descriptors, no goroutines, no log of the database, no keys in
// Redis, no dead rows.
func TestSoak(t *testing.T) {
	asked := os.Getenv(soakVariable)
	if asked == "" {
		t.Skip("make soak runs it")
	}
	hours, err := strconv.ParseFloat(asked, 64)
	must(t, err)
	x := newSoak(t)
	length := time.Duration(hours * float64(time.Hour))
	stop := x.load()
	end := time.Now().Add(length)
	warm := time.Now().Add(length / 4)
	for act := 0; time.Now().Before(end); act++ {
		x.act(act)
		for next := time.Now().Add(10 * time.Second); time.Now().Before(next); lapse(2 * time.Second) {
			if time.Now().After(warm) {
				x.sample()
			}
		}
	}
	stop()
	x.report()
	x.mustStop()
	x.single.mustStop()
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	x := &soak{cluster: newClusterApart(t), answers: make(map[int]*atomic.Int64), done: make(map[string]*atomic.Int64)}
	x.start(3)
	x.single = serve(t, filepath.Join(t.TempDir(), "data"))
	for _, s := range append(slices.Clone(x.nodes), x.single) {
		s.log.atMost(logAtMost)
	}
	// The last node is killed again and again, the others never.
	for i, name := range []string{"node 1", "node 2", "the killed node", "the single node"} {
		s := func() *server {
			if i == len(x.nodes) {
				return x.single
			}
			return x.nodes[i]
		}
		x.watch(name+": resident bytes", heapStep, func() float64 { return s().metric("process_resident_memory_bytes") })
		x.watch(name+": open descriptors", 2, func() float64 { return s().metric("process_open_fds") })
		x.watch(name+": goroutines", 4, func() float64 { return s().metric("go_goroutines") })
	}
	x.watch("the single node: bytes of the log", 1<<20, func() float64 { return x.single.metric("petcat_store_wal_bytes") })
	x.watch("Redis: keys", 8, func() float64 { return x.number(x.redis.Do("DBSIZE")) })
	const tables = `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::float8 FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
		AND relname IN ('meta', 'counter', 'node', 'day_count', 'day_call', 'shared_epoch', 'shared_count')`
	x.watch("PostgreSQL: bytes of what is no data", 1<<20, func() float64 { return x.query(tables) })
	const dead = `SELECT coalesce(sum(n_dead_tup) / greatest(sum(n_live_tup + n_dead_tup), 1000), 0)::float8 FROM pg_stat_user_tables`
	x.watch("PostgreSQL: dead rows, of all", 0.05, func() float64 { return x.query(dead) })
	return x
}

// query returns the number that a statement finds.
func (x *soak) query(statement string) (n float64) {
	x.t.Helper()
	conn := pgtest.Connect(x.t, x.database) // PostgreSQL is killed now and then
	defer func() { _ = conn.Close(x.t.Context()) }()
	must(x.t, conn.QueryRow(x.t.Context(), statement).Scan(&n))
	return n
}

func (x *soak) watch(name string, least float64, read func() float64) {
	x.series = append(x.series, &soakSeries{name: name, least: least, read: read})
}

// number returns the number in an answer of Redis, NaN while it does not answer.
func (x *soak) number(answer string, err error) float64 {
	n, parseErr := strconv.ParseFloat(strings.Trim(answer, ":\r\n "), 64)
	if err != nil || parseErr != nil {
		return math.NaN()
	}
	return n
}

func (x *soak) sample() {
	for _, s := range x.series {
		if v := s.read(); !math.IsNaN(v) {
			s.samples = append(s.samples, v)
		}
	}
}

// act does one of what operators and misfortune do.
func (x *soak) act(number int) {
	switch number % 8 {
	case 0:
		plan := []string{"free", "pro"}[number/8%2]
		mustRun(x.t, "account", "set-plan", "free0", plan, "--database", x.database)
	case 1:
		file := filepath.Join(x.t.TempDir(), fmt.Sprint("backup", number))
		mustRun(x.t, "backup", file, "--quiet", "--database", x.database)
		must(x.t, os.Remove(file))
	case 2:
		x.nodes[2].kill()
		x.nodes[2] = x.launch()
		x.nodes[2].awaitReady()
		x.nodes[2].log.atMost(logAtMost)
		x.started(2)
	case 3:
		_, _ = issueKey(x.t, x.database, "free1")
	case 4:
		file := filepath.Join(x.t.TempDir(), fmt.Sprint("backup", number))
		mustRun(x.t, "backup", file, "--quiet", "--data", x.single.data)
		must(x.t, os.Remove(file))
	case 5:
		if number/8%4 == 0 {
			x.redis.Restart()
		}
	case 6:
		if number/8%4 == 1 {
			x.outage(x.postgres.Kill, func() { must(x.t, x.postgres.Start(x.t.Context())) })
		} else {
			x.outage(x.postgres.Suspend, x.postgres.Resume)
		}
	case 7: // keys on the plan free earn bans all the time
		for _, b := range x.bans() {
			_, _, _ = petcatRuns(x.t, "ban", "lift", b.Key, "--database", x.database) // it may have ended
		}
	}
}

// outage takes PostgreSQL away for a moment, and waits until all is well again.
func (x *soak) outage(lose, heal func()) {
	x.t.Helper()
	lose()
	lapse(3 * time.Second)
	heal()
	x.awaitWell(30 * time.Second)
}

// report prints what was measured, and fails for what grew.
func (x *soak) report() {
	for status, count := range x.answers {
		if n := count.Load(); n > 0 {
			x.t.Logf("%d answers with %d", n, status)
		}
	}
	for what, count := range x.done {
		x.t.Logf("%d times: %s", count.Load(), what)
		if count.Load() == 0 {
			x.t.Errorf("nobody did this: %s", what)
		}
	}
	for _, s := range x.series {
		growth, noise := s.growth()
		x.t.Logf("%-40s %s; growth %.4g, noise %.4g", s.name, s.plot(), growth, noise)
		if s.grew() {
			x.t.Errorf("%s grew by %.4g, and its noise is %.4g", s.name, growth, noise)
		}
	}
}
