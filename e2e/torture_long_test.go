//go:build long && unix

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	rules "github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
)

// TestTortureKills kills a server PETCAT_KILLS times on each database.
func TestTortureKills(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, place string) { killOften(t, place, int(envNumber(t, "PETCAT_KILLS", 50))) })
}

// tortureQuota is the quota per minute of a small account.
const tortureQuota = 60

// torture is a cluster with injected faults, and its recorded results.
type torture struct {
	t        *testing.T
	random   *rand.Rand
	postgres *pgtest.Server // nil if the test controls the database itself
	place    string
	most     int // maximum number of nodes
	k        key
	small    []account
	patient  key
	client   *http.Client
	known    *book
	copied   *follower
	last     atomic.Int64 // the newest acknowledged category

	mu        sync.Mutex
	nodes     []*node      // that should be running; guarded by mu
	faults    []fault      // guarded by mu
	responses map[int]int  // by status; guarded by mu
	stale     atomic.Int64 // lists with Age
}

// account is an account with a small quota, and the results of its requests.
type account struct {
	key
	spends *spent
}

// fault is the time of a fault of the database or a node.
type fault struct {
	begin, end time.Time // end is zero during the fault
	database   bool
	suspended  bool // a node
}

// TestTortureCluster kills, suspends and restarts nodes and their database at random for PETCAT_MINUTES
// under load. No acknowledged create is lost, lists without Age are fresh, limits keep their bounds,
// clients that wait for Retry-After are allowed, and everything recovers.
func TestTortureCluster(t *testing.T) {
	postgres := pgtest.New(t)
	t.Cleanup(postgres.Resume)
	x := newTorture(t, postgres.Database(t), 4)
	x.postgres = postgres
	x.during(func() {
		end := time.Now().Add(time.Duration(envNumber(t, "PETCAT_MINUTES", 60) * float64(time.Minute)))
		for time.Now().Before(end) && !t.Failed() {
			x.fail()
			x.heal()
		}
	})
}

// newTorture starts three nodes. There may be at most most nodes.
func newTorture(t *testing.T, place string, most int) *torture {
	x := &torture{t: t, random: seeded(t), place: place, most: most, known: newBook(), copied: newFollower(), responses: map[int]int{}}
	x.client = newClient(t, &http.Transport{MaxIdleConnsPerHost: 100})
	setOutage(t, true, x.client) // at any time
	x.k = newKey(t, x.place, "acme", unlimited...)
	for i := range 5 {
		k := newKey(t, x.place, fmt.Sprint("small ", i), limited(strconv.Itoa(tortureQuota), "1000000000")...)
		x.small = append(x.small, account{k, newSpent(tortureQuota, rules.CodeRateLimitExceeded)})
	}
	x.patient = newKey(t, x.place, "patient", limited("30", "1000000000")...)
	x.nodes = serveAll(t, 3, x.place, "--bans", "off")
	return x
}

// during uses the nodes while failures runs, then checks the results.
func (x *torture) during(failures func()) {
	t := x.t
	stop := make(chan struct{})
	var users sync.WaitGroup
	use := func(pause time.Duration, do func(random *rand.Rand, i int)) {
		random := rand.New(rand.NewPCG(x.random.Uint64(), 0))
		users.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-tick.C:
					do(random, i)
				}
			}
		})
	}
	for w := range 4 {
		use(50*time.Millisecond, func(random *rand.Rand, i int) { x.create(random, fmt.Sprintf("writer-%d-%d", w, i)) })
		use(20*time.Millisecond, func(random *rand.Rand, _ int) { x.look(random) })
		use(10*time.Millisecond, func(random *rand.Rand, i int) { x.spend(random, x.small[i%len(x.small)]) })
	}
	var free time.Time // when the patient client may send again
	use(100*time.Millisecond, func(random *rand.Rand, _ int) { free = x.wait(random, x.patient, free) })
	use(200*time.Millisecond, func(random *rand.Rand, _ int) { x.follow(random) })

	failures()
	close(stop)
	users.Wait()
	x.heal()
	for _, n := range x.nodes {
		x.known.check(t, func() []category { return n.categories(x.k.Key) })
	}
	x.copied.wantList(t, x.nodes[0], x.k)
	if x.postgres != nil && x.copied.restarts > 0 { // a failover may expire cursors
		t.Errorf("the copy began again %d times", x.copied.restarts)
	}
	x.checkLimits()
	for _, n := range x.nodes {
		n.stop()
	}
	checkUsageDetail(t, x.place)
	t.Logf("%d faults; %d creates acknowledged; %d lists had an Age", len(x.faults), x.known.size(), x.stale.Load())
	t.Logf("responses by status: %v", x.responses)
}

// any returns a node.
func (x *torture) any(random *rand.Rand) *node {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.nodes[random.IntN(len(x.nodes))]
}

// ask sends a request to a random node. It returns nil without a response. The only allowed server
// error is 503.
func (x *torture) ask(random *rand.Rand, path string, k key) *response {
	a, err := try(x.client, http.MethodGet, x.any(random).api+path, nil, by(k.Key))
	if err != nil {
		return nil
	}
	x.mu.Lock()
	x.responses[a.StatusCode]++
	x.mu.Unlock()
	if a.StatusCode >= http.StatusInternalServerError && a.StatusCode != http.StatusServiceUnavailable {
		x.t.Errorf("%s got %d %s", path, a.StatusCode, a.body)
	}
	return a
}

// create creates a category, with retries on random nodes.
func (x *torture) create(random *rand.Rand, name string) {
	body, once := fmt.Sprintf(`{"name":%q}`, name), header("Idempotency-Key", name)
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		url := x.any(random).api + "/v1/categories"
		a, err := try(x.client, http.MethodPost, url, strings.NewReader(body), by(x.k.Key), once)
		if err == nil && a.StatusCode == http.StatusCreated {
			var c category
			a.decode(x.t, &c)
			x.known.acknowledge(c)
			for last := x.last.Load(); c.ID > last && !x.last.CompareAndSwap(last, c.ID); last = x.last.Load() {
			}
			return
		}
	}
	x.t.Errorf("%s was not created within five minutes", name)
}

// look checks that the list of a random node contains the newest category.
func (x *torture) look(random *rand.Rand) {
	newest := x.last.Load()
	if newest == 0 {
		return
	}
	a := x.ask(random, fmt.Sprintf("/v1/categories?limit=1&after=%d", newest-1), x.k)
	switch {
	case a == nil || a.StatusCode != http.StatusOK:
	case a.Header.Get("Age") != "":
		x.stale.Add(1)
	default:
		var all []category
		if a.decode(x.t, &all); len(all) == 0 || all[0].ID != newest {
			x.t.Errorf("a list without Age lacks category %d, which was acknowledged before: %v", newest, all)
		}
	}
}

// follow reads the next changes from a random node.
func (x *torture) follow(random *rand.Rand) {
	a := x.ask(random, x.copied.next, x.k)
	if a != nil && a.StatusCode != http.StatusServiceUnavailable {
		x.copied.apply(x.t, a)
	}
}

// spend sends a request of a small account without waiting.
func (x *torture) spend(random *rand.Rand, a account) {
	response := x.ask(random, "/v1/categories?limit=1", a.key)
	if response == nil || response.StatusCode == http.StatusServiceUnavailable {
		a.spends.lose()
		return
	}
	a.spends.add(x.t, response)
}

// wait sends a request of a client that waits for Retry-After, and returns the end of the wait. The
// client is the only one of its account, so the request is allowed.
func (x *torture) wait(random *rand.Rand, k key, free time.Time) time.Time {
	if time.Now().Before(free) {
		return free
	}
	a := x.ask(random, "/v1/categories?limit=1", k)
	if a == nil || a.Header.Get("Retry-After") == "" {
		return time.Time{}
	}
	suspended := func() bool { return x.touched(time.Now().Add(-time.Minute), time.Now()).suspended }
	if a.StatusCode == http.StatusTooManyRequests && !free.IsZero() && !suspended() {
		x.t.Errorf("a client that waited was rejected: %s", a.body)
	}
	until := time.Now().Add(time.Duration(a.number(x.t, "Retry-After")) * time.Second)
	if a.StatusCode != http.StatusTooManyRequests {
		return time.Time{}
	}
	return until
}

// fail causes a random fault for a random time.
func (x *torture) fail() {
	x.t.Helper()
	<-time.After(time.Duration(x.random.IntN(4000)) * time.Millisecond)
	long := time.Duration(200+x.random.IntN(15_000)) * time.Millisecond
	kind, i := x.random.IntN(7), x.random.IntN(len(x.nodes))
	n := x.nodes[i]
	end := x.begin(fault{database: kind < 3, suspended: kind == 5})
	switch kind {
	case 0: // PostgreSQL crashes
		x.postgres.Kill()
		<-time.After(long / 5)
		must(x.t, x.postgres.Start(x.t.Context()))
	case 1: // it restarts
		x.postgres.Stop()
		must(x.t, x.postgres.Start(x.t.Context()))
	case 2: // it hangs
		x.postgres.Suspend()
		<-time.After(long)
		x.postgres.Resume()
	case 3: // a node is killed
		n.kill()
		x.replace(i)
	case 4: // a node restarts
		x.take(i)
		n.stop()
		x.add()
	case 5: // a node hangs
		n.signal(syscall.SIGSTOP)
		<-time.After(long / 2)
		n.signal(syscall.SIGCONT)
	case 6: // a node is added or removed
		if len(x.nodes) < x.most {
			x.add()
		} else {
			x.take(i)
			n.stop()
		}
	}
	end()
}

// begin records a fault until end is called.
func (x *torture) begin(f fault) (end func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f.begin = time.Now()
	at := len(x.faults)
	x.faults = append(x.faults, f)
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.faults[at].end = time.Now()
	}
}

// add starts another node.
func (x *torture) add() {
	n := serve(x.t, x.place, "--bans", "off")
	x.mu.Lock()
	defer x.mu.Unlock()
	x.nodes = append(x.nodes, n)
}

// take removes a node from use.
func (x *torture) take(i int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.nodes = slices.Delete(slices.Clone(x.nodes), i, i+1)
}

// replace replaces a dead node.
func (x *torture) replace(i int) {
	x.take(i)
	x.add()
}

// heal waits until all nodes are healthy.
func (x *torture) heal() {
	x.t.Helper()
	for i := range x.nodes {
		n := x.nodes[i]
		end := time.Now().Add(2 * time.Minute)
		healthy := func(a *response, err error) bool {
			return err == nil && a.StatusCode == http.StatusOK && n.list(x.k.Key).StatusCode == http.StatusOK
		}
		for a, err := n.tryAdmin("/readyz"); !healthy(a, err); a, err = n.tryAdmin("/readyz") {
			if time.Now().After(end) {
				x.t.Fatalf("a node is unhealthy after two minutes: %v", err)
			}
			<-time.After(50 * time.Millisecond)
		}
	}
}

// touched returns the faults between two times. Each fault includes the seconds until its end was
// detected.
func (x *torture) touched(from, to time.Time) (all fault) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.faults {
		if f.begin.Before(to) && (f.end.IsZero() || f.end.Add(10*time.Second).After(from)) {
			all.database = all.database || f.database
			all.suspended = all.suspended || f.suspended
		}
	}
	return all
}

// checkLimits compares the allowed requests of each minute with the bounds in docs/scaling.md.
func (x *torture) checkLimits() {
	x.t.Helper()
	minutes, exact, most := 0, 0, 0
	for _, a := range x.small {
		for reset, allowed := range a.spends.allowed {
			end := time.Unix(reset, 0)
			failed := x.touched(end.Add(-time.Minute), end)
			bound := tortureQuota
			if failed.suspended {
				bound += tortureQuota
			}
			if failed.database {
				bound += (x.most + 1) * tortureQuota
			}
			minutes++
			most = max(most, allowed)
			if allowed == tortureQuota {
				exact++
			}
			if allowed > bound {
				x.t.Errorf("%s: %d requests in the minute until %s, bound %d (%+v)", a.ID, allowed, end.UTC(), bound, failed)
			}
		}
	}
	x.t.Logf("%d minutes of accounts: %d were allowed the quota of %d, at most %d", minutes, exact, tortureQuota, most)
}

// checkUsageDetail checks that the usage of each account and hour is the sum of its usage by key, and by
// operation. Killed nodes lose both or neither.
func checkUsageDetail(t *testing.T, place string) {
	t.Helper()
	type counts struct {
		Begin                      time.Time
		Requests, Rejected, Failed int
		MinuteRejected             int `json:"minute_rejected"`
		DayRejected                int `json:"day_rejected"`
		BanRejected                int `json:"ban_rejected"`
	}
	type sums struct{ requests, rejected, failed int }
	accounts := petcatJSON[[]struct{ ID string }](t, place, "account", "list")
	for _, a := range accounts {
		for _, group := range []string{"--by-key", "--by-operation"} {
			history := petcatJSON[struct {
				Periods []counts
				Detail  []counts
			}](t, place, "usage", a.ID, "--by", "hour", group)
			want, got := map[time.Time]sums{}, map[time.Time]sums{}
			for _, p := range history.Periods {
				want[p.Begin] = sums{p.Requests, p.MinuteRejected + p.DayRejected + p.BanRejected, p.Failed}
			}
			for _, p := range history.Detail {
				s := got[p.Begin]
				got[p.Begin] = sums{s.requests + p.Requests, s.rejected + p.Rejected, s.failed + p.Failed}
			}
			if len(want) == 0 || !maps.Equal(want, got) {
				t.Errorf("the usage of %s %s is %v, its sum %v", a.ID, group, got, want)
			}
		}
	}
}

// lose counts a request without a response, or with 503 during an outage.
func (s *spent) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown++
}
