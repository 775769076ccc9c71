package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
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

// soak is a cluster and a single node that are used for hours, and what was measured of
// them.
type soak struct {
	*cluster
	single  *server
	began   time.Time
	series  []*soakSeries
	answers map[int]*atomic.Int64 // by status
}

// soakSeries is one thing that must not grow.
type soakSeries struct {
	name    string
	read    func() float64
	least   float64 // a growth by this is never one
	samples []soakSample
}

type soakSample struct{ at, value float64 }

// growth returns by how much a series grew over the samples by a line of least squares,
// and how far the samples are from that line.
func (s *soakSeries) growth() (growth, noise float64) {
	var n, sx, sy, sxx, sxy float64
	for _, p := range s.samples {
		n, sx, sy, sxx, sxy = n+1, sx+p.at, sy+p.value, sxx+p.at*p.at, sxy+p.at*p.value
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	begin := (sy - slope*sx) / n
	for _, p := range s.samples {
		off := p.value - begin - slope*p.at
		noise += off * off
	}
	first, last := s.samples[0].at, s.samples[len(s.samples)-1].at
	return slope * (last - first), math.Sqrt(noise / n)
}

// plot draws the samples in a line of letters, from the lowest to the highest.
func (s *soakSeries) plot() string {
	const width, levels = 72, "▁▂▃▄▅▆▇█"
	steps := []rune(levels)
	values := make([]float64, 0, len(s.samples))
	for _, p := range s.samples {
		values = append(values, p.value)
	}
	low, high := slices.Min(values), slices.Max(values)
	var line strings.Builder
	for i := range min(width, len(values)) {
		v := values[i*len(values)/min(width, len(values))]
		line.WriteRune(steps[int((v-low)/max(high-low, 1e-9)*float64(len(steps)-1))])
	}
	return fmt.Sprintf("%s %.4g to %.4g", line.String(), low, high)
}

// TestSoak: under a mixed load, with nodes that are killed, a Redis that is restarted,
// plans that change, bans and backups, nothing grows but the data: no memory, no
// descriptors, no goroutines, no log of the database, no keys in Redis, no dead rows.
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
	x := &soak{cluster: newClusterApart(t), began: time.Now(), answers: make(map[int]*atomic.Int64)}
	x.start(3)
	x.single = serve(t, filepath.Join(t.TempDir(), "data"))
	for _, s := range append(slices.Clone(x.nodes), x.single) {
		s.log.atMost(logAtMost)
	}
	watched := map[string]*server{"node 1": x.nodes[0], "node 2": x.nodes[1], "the single node": x.single}
	for _, name := range []string{"node 1", "node 2", "the single node"} {
		s := watched[name]
		x.watch(name+": resident bytes", 16<<20, func() float64 { return s.metric("process_resident_memory_bytes") })
		x.watch(name+": open descriptors", 8, func() float64 { return s.metric("process_open_fds") })
		x.watch(name+": goroutines", 16, func() float64 { return s.metric("go_goroutines") })
	}
	x.watch("the single node: bytes of the log", 8<<20, func() float64 { return x.single.metric("petcat_store_wal_bytes") })
	x.watch("Redis: keys", 64, func() float64 { return x.number(x.redis.Do("DBSIZE")) })
	conn := pgtest.Connect(t, x.database)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	x.watch("PostgreSQL: bytes of what is no data", 8<<20, func() (bytes float64) {
		const query = `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::float8 FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
			AND relname NOT IN ('category', 'idempotency', 'account', 'api_key', 'ban', 'audit')`
		must(t, conn.QueryRow(t.Context(), query).Scan(&bytes))
		return bytes
	})
	return x
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
	at := time.Since(x.began).Seconds()
	for _, s := range x.series {
		if v := s.read(); !math.IsNaN(v) {
			s.samples = append(s.samples, soakSample{at, v})
		}
	}
}

// load lets clients list, create, repeat creates and exceed their quotas.
func (x *soak) load() (stop func()) {
	type target struct {
		s   *server
		key string
	}
	unlimitedKey, free := x.newCaller(), x.newKeys("free", 20, "free")
	single := newCaller(x.t, x.single.data)
	plain := &http.Client{Timeout: answerTimeout, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}}
	for _, status := range []int{0, 200, 201, 409, 429, 503} {
		x.answers[status] = &atomic.Int64{}
	}
	ask := func(random *rand.Rand, to target) {
		s := &server{t: x.t, client: plain, api: to.s.api}
		var a *answer
		var err error
		if n := random.IntN(10); n == 0 {
			name := fmt.Sprint("c", random.IntN(500)) // each is created again and again
			a, err = s.try(http.MethodPost, s.api+"/v1/categories", strings.NewReader(categoryBody(name)), withKey(to.key), withHeader("Idempotency-Key", name))
		} else {
			a, err = s.tryList(to.key)
		}
		status := 0
		if err == nil {
			status = a.StatusCode
		}
		if count := x.answers[status]; count != nil {
			count.Add(1)
		} else {
			x.t.Errorf("an answer with %d: %.300s", status, a.body)
		}
	}
	return stream(8, 4*time.Millisecond, func(random *rand.Rand) {
		switch random.IntN(4) {
		case 0:
			ask(random, target{x.single, single})
		case 1:
			ask(random, target{x.nodes[random.IntN(2)], free[random.IntN(len(free))]})
		default:
			ask(random, target{x.nodes[random.IntN(2)], unlimitedKey})
		}
	})
}

// act does one of what operators and misfortune do.
func (x *soak) act(number int) {
	switch number % 6 {
	case 0:
		plan := []string{"free", "pro"}[number/6%2]
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
	case 3:
		_, _ = issueKey(x.t, x.database, "free1")
	case 4:
		file := filepath.Join(x.t.TempDir(), fmt.Sprint("backup", number))
		mustRun(x.t, "backup", file, "--quiet", "--data", x.single.data)
		must(x.t, os.Remove(file))
	case 5:
		if number/6%5 == 0 {
			x.redis.Restart()
		}
	}
}

// report prints what was measured, and fails for what grew.
func (x *soak) report() {
	for status, count := range x.answers {
		if n := count.Load(); n > 0 {
			x.t.Logf("%d answers with %d", n, status)
		}
	}
	for _, s := range x.series {
		growth, noise := s.growth()
		x.t.Logf("%-40s %s; growth %.4g, noise %.4g", s.name, s.plot(), growth, noise)
		if growth > max(3*noise, s.least) {
			x.t.Errorf("%s grew by %.4g, and its noise is %.4g", s.name, growth, noise)
		}
	}
}
