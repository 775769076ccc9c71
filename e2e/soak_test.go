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
	outages atomic.Int64             // of PostgreSQL, begun and ended: odd during one
	backups []string                 // the folders of scheduled ones
}

// How often backups are made in a soak, and how many are kept.
const (
	soakBackupEvery = time.Minute
	soakBackups     = 3
)

// scheduled returns the flags of a server that makes backups.
func (x *soak) scheduled(folder string) (flags []string) {
	return []string{"--backup-every", soakBackupEvery.String(), "--backup-keep", strconv.Itoa(soakBackups), "--backup-dir", folder}
}

// TestSoak: under a mixed load, with a node that is killed, a Redis that is restarted, a
// PostgreSQL that is killed or hangs, plans that change, bans and backups, nothing grows but
// the data: no memory, no descriptors, no goroutines, no log of the database, no keys in
// Redis, no tables of the cluster's own, no dead rows that stay. Nobody gets 503 but while
// PostgreSQL is away, and the scheduled backups are made all the time.
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
	x.wantVacuumed()
	x.wantBackups()
	x.mustStop()
	x.single.mustStop()
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	x := &soak{cluster: newClusterApart(t), answers: make(map[int]*atomic.Int64), done: make(map[string]*atomic.Int64)}
	x.backups = []string{filepath.Join(t.TempDir(), "backups"), filepath.Join(t.TempDir(), "backups")}
	x.start(3, x.scheduled(x.backups[0])...)
	x.single = serve(t, filepath.Join(t.TempDir(), "data"), x.scheduled(x.backups[1])...)
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
	return x
}

// wantVacuumed checks that no transaction of the nodes keeps dead rows: VACUUM removes all
// but those of the last moment, in which the nodes say that they are there.
func (x *soak) wantVacuumed() {
	x.t.Helper()
	const atMost = 100
	x.postgres.Execute(x.t, x.database, "VACUUM")
	if dead := x.query(`SELECT coalesce(sum(n_dead_tup), 0)::float8 FROM pg_stat_user_tables`); dead > atMost {
		x.t.Errorf("after VACUUM there are %.0f dead rows, want %d at most", dead, atMost)
	}
}

// wantBackups checks that backups were made to the end, and few are kept.
func (x *soak) wantBackups() {
	x.t.Helper()
	for _, folder := range x.backups {
		files := scheduled(x.t, folder)
		if len(files) != soakBackups {
			x.t.Errorf("%d backups are kept in %s, want %d", len(files), folder, soakBackups)
			continue
		}
		newest := files[len(files)-1]
		if info, err := os.Stat(newest); err != nil || time.Since(info.ModTime()) > 2*soakBackupEvery {
			x.t.Errorf("the newest backup is %s, made at %v (%v); one is due each %s", newest, info.ModTime(), err, soakBackupEvery)
		}
		mustRun(x.t, "verify", newest)
	}
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
		x.nodes[2] = x.launch(x.scheduled(x.backups[0])...)
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
	x.outages.Add(1)
	lose()
	lapse(3 * time.Second)
	heal()
	x.awaitWell(30 * time.Second)
	x.outages.Add(1)
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
