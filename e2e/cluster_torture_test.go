package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/pgtest"
	"petcat/internal/stalltest"
)

const (
	// minutesVariable asks for TestTortureCluster, for so long: make torture does.
	minutesVariable = "PETCAT_TORTURE_MINUTES"
	// seedVariable asks for the faults and the load of an earlier run. What servers
	// make of them differs from run to run.
	seedVariable = "PETCAT_TORTURE_SEED"
)

// clusterTorture is a cluster under load to which one fault after the other happens. It
// writes down every answer and every fault, and holds each account's minutes and day
// against what docs/scaling.md promises for what happened in them.
type clusterTorture struct {
	*cluster
	seed      uint64
	incidents incidents
	machine   machine
	accounts  []*tortureAccount
	asker     *server // its client asks all nodes
	begin     time.Time
	end       time.Time

	away   sync.Mutex // held while PostgreSQL is away for all nodes, and while a node starts or stops
	routed atomic.Pointer[[]*tortureNode]

	mu    sync.Mutex
	ever  []*tortureNode // all that ever started, by number; guarded by mu
	alive []*tortureNode // guarded by mu

	checked  int64 // the first minute that was not checked yet
	verdicts verdicts
}

// TestTortureCluster: on two to six nodes, whatever happens to them, to Redis and to
// PostgreSQL, no account is admitted more than docs/scaling.md says, and exactly its quota
// while the counters are well; nobody is banned who waits; and nobody gets a 5xx but where
// a node has lost PostgreSQL and cannot know the caller.
func TestTortureCluster(t *testing.T) {
	asked := os.Getenv(minutesVariable)
	if asked == "" {
		t.Skip("make torture runs it; the other tests of clusters are its short forms")
	}
	minutes, err := strconv.Atoi(asked)
	must(t, err)
	seed := uint64(time.Now().UnixNano())
	if again := os.Getenv(seedVariable); again != "" {
		seed, err = strconv.ParseUint(again, 10, 64)
		must(t, err)
	}
	x := newClusterTorture(t, seed)
	t.Logf("%s=%d; the counters are in %s", seedVariable, seed, x.place())
	x.run(time.Duration(minutes) * time.Minute)
}

func newClusterTorture(t *testing.T, seed uint64) *clusterTorture {
	t.Helper()
	x := &clusterTorture{cluster: newClusterApart(t), seed: seed}
	x.incidents.database = seed%4 == 0
	x.machine.control = stalltest.Start(t)
	x.asker = &server{t: t, client: &http.Client{
		Timeout:   answerTimeout,
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100, IdleConnTimeout: 20 * time.Second},
	}}
	t.Cleanup(x.asker.client.CloseIdleConnections)
	x.verdicts = verdicts{t: t, void: make(map[time.Time]bool), kinds: make(map[string]*kindOfMinute)}
	return x
}

// place says where the counters are.
func (x *clusterTorture) place() string {
	if x.incidents.database {
		return "PostgreSQL"
	}
	return "Redis"
}

// random returns the source of what one part of the test makes up.
func (x *clusterTorture) random(part string, number int) *rand.Rand {
	stream := uint64(number)
	for _, c := range part {
		stream = stream*31 + uint64(c)<<20
	}
	return rand.New(rand.NewPCG(x.seed, stream))
}

func (x *clusterTorture) run(length time.Duration) {
	r := x.random("run", 0)
	for range 2 + r.IntN(4) {
		x.startNode()
	}
	x.makeAccounts()
	lapse(settleIn)
	nextMinute()
	x.begin = time.Now().Truncate(time.Minute)
	x.end = x.begin.Add(length)
	x.checked = x.begin.Unix() / 60
	x.t.Logf("it begins at %s with %d nodes and %d accounts", clockTime(x.begin), len(x.alive), len(x.accounts))

	var background, load sync.WaitGroup
	over := make(chan struct{})
	background.Go(func() { x.watch(over) })
	for _, a := range x.accounts {
		load.Go(func() { x.use(a) })
	}
	x.acts()
	load.Wait()
	close(over)
	background.Wait()
	x.check(x.end)
	x.checkDays()
	x.checkBans()
	x.checkVoids(int(length / time.Minute))
	x.verdicts.summary(x)
	x.stopAll()
}

// checkVoids: minutes that the machine spoilt show nothing, so there may be few of them.
// PostgreSQL may be late under a burst on a machine that is calm, too, but seldom.
func (x *clusterTorture) checkVoids(minutes int) {
	most := 3 + minutes/20
	if x.incidents.database {
		most = 3 + minutes/4
	}
	if n := len(x.verdicts.void); n > most {
		x.verdicts.wrong("the machine spoilt %d of %d minutes", n, minutes)
	}
	if d := x.verdicts.calm; d.tooManyLocal() {
		x.verdicts.wrong("nodes that no fault hit decided %d of %d requests by themselves while the machine was calm", d.local, d.all)
	}
}

// settleIn is until all nodes that were started one after the other have a share.
const settleIn = 8 * time.Second

// acts lets one act follow the other: one in which something is wrong, and one in which
// all is well for two whole minutes.
func (x *clusterTorture) acts() {
	r := x.random("acts", 0)
	themes := x.themes()
	var order []int
	for number := 0; time.Now().Before(x.end); number++ {
		if len(order) == 0 {
			order = r.Perm(len(themes))
		}
		theme := themes[order[0]]
		order = order[1:]
		until := time.Now().Add(time.Duration(80+r.IntN(90)) * time.Second)
		x.act(number, theme, earlier(until, x.end))
		x.report()
		// What is left of a fault is over after some seconds.
		calm := time.Now().Add(silence + time.Minute).Truncate(time.Minute).Add(2 * time.Minute)
		lapse(time.Until(earlier(calm, x.end)))
		x.report()
	}
}

// act lets some lanes of faults go side by side, and returns when all faults are over.
func (x *clusterTorture) act(number int, theme []lane, until time.Time) {
	var names []string
	for _, l := range theme {
		names = append(names, l.name)
	}
	x.t.Logf("%s act %d: %s", clockTime(time.Now()), number, strings.Join(names, ", "))
	var all sync.WaitGroup
	for i, l := range theme {
		r := x.random(l.name, 100*number+i)
		all.Go(func() {
			for {
				lapse(time.Duration(r.Int64N(int64(pauseAtMost))))
				if !time.Now().Before(until) {
					return
				}
				l.happen(r, until)
			}
		})
	}
	all.Wait()
}

// pauseAtMost is between two faults of a lane.
const pauseAtMost = 15 * time.Second

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// reportEvery is how often the test tells where it stands.
const reportEvery = 10 * time.Minute

// report checks the minutes whose answers are all there, and tells where the test stands
// when it is time.
func (x *clusterTorture) report() {
	before := x.checked
	x.check(time.Now().Add(-2 * time.Minute))
	per := int64(reportEvery / time.Minute)
	if begin := x.begin.Unix() / 60; (before-begin)/per != (x.checked-begin)/per {
		x.verdicts.summary(x)
	}
}

// checkBans: whoever is banned has hammered.
func (x *clusterTorture) checkBans() {
	banned := 0
	for _, ban := range x.bans() {
		i := slices.IndexFunc(x.accounts, func(a *tortureAccount) bool { return a.id == ban.Key })
		if x.accounts[i].habit != hammers {
			x.verdicts.wrong("%s is banned: %+v", x.accounts[i].name, ban)
		} else {
			banned++
		}
	}
	x.t.Logf("%d accounts that hammered are or were banned", banned)
}

func (x *clusterTorture) stopAll() {
	for _, n := range x.alive {
		x.nodes = append(x.nodes, n.server)
	}
	x.mustStop()
}

func clockTime(at time.Time) string { return at.UTC().Format("15:04:05.000") }

// postgresURL returns the address of the database, by a proxy if there is one.
func (x *clusterTorture) postgresURL(n *tortureNode) string {
	if n.toPostgres == nil {
		return x.database
	}
	return pgtest.ByTCP(x.database, n.toPostgres.Address())
}

func (n *tortureNode) String() string { return fmt.Sprint("node ", n.number) }
