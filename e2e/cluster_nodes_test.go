package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/stalltest"
)

// nodeGone is how soon the others know that a node no longer serves: five beats
// of 2 s, and one more until they ask. nodeLeft is how soon when it stopped in order.
const nodeGone, nodeLeft = 12 * time.Second, 2 * time.Second

// TestClusterLosesNodes: a node that is killed and one that hangs, in the middle
// of everything, take nothing from the others but what they had in flight: these admit
// exactly the quota at once, long before they know.
func TestClusterLosesNodes(t *testing.T) {
	t.Parallel()
	var x *nodeLoss
	var hung *server
	watch := stalltest.Start(t)
	watch.InTime("an answer of another node", 3*time.Second, func() time.Duration {
		if x != nil {
			x.mustStop()
			hung.kill()
		}
		x = startNodeLoss(t)
		hung = x.nodes[2]
		return x.loseTwo(watch)
	})
	x.check()
	x.minuteIsExact("two nodes are left, and know it", even)

	hung.signal(sigContinue)
	x.nodes = append(x.nodes, hung)
	x.awaitNodes(5*time.Second, 3)
	x.awaitWell(10 * time.Second)
	x.minuteIsExact("one is back", even)
	id := x.nodes[0].mustCreate(x.key, "last")
	if list := hung.categories(x.key); list[len(list)-1].ID != id {
		t.Error("the node that hung shows an old list")
	}
	x.mustStop()
}

// loseTwo lets the third node hang and kills the last, under load, until the others know.
// It returns how long the slowest answer of these took.
func (x *nodeLoss) loseTwo(watch *stalltest.Control) (slowest time.Duration) {
	x.t.Helper()
	hung, killed := x.nodes[2], x.nodes[3]
	stop := stream(4, 10*time.Millisecond, x.askOrCreate)
	lapse(time.Second)
	watch.Lap()
	var losing sync.WaitGroup
	losing.Go(func() {
		lapse(20 * time.Millisecond)
		x.lost.Store(true)
		hung.signal(sigStop)
		killed.kill()
	})
	x.spend(30)
	losing.Wait()
	x.forget(hung)
	x.forget(killed)
	x.spend(100)
	begin := time.Now()
	for i := 0; i == 0 || time.Since(begin) < nodeGone && !x.know(2); i++ {
		x.minuteIsExact("two nodes are left", []spread{even, skewed}[i%2])
	}
	took := time.Since(begin) + x.awaitNodes(time.Second, 2)
	stop()
	x.t.Logf("%d lists and creates on the other nodes, 99 in 100 within %s, the slowest within %s; they knew after %s", len(x.took),
		percentile(x.took, 99).Round(time.Millisecond), percentile(x.took, 100).Round(time.Millisecond), took.Round(100*time.Millisecond))
	return percentile(x.took, 100)
}

// nodeLoss is a cluster of four nodes under load that loses the last two.
type nodeLoss struct {
	*cluster
	key    string // without limits
	frees  []string
	free   *tally
	ledger *ledger
	lost   atomic.Bool // the last two are, or are about to be
	sent   atomic.Int64
	asked  []*server // all four, each with little timeout

	mu         sync.Mutex
	took       []time.Duration // on the first two, when they are left alone; guarded by mu
	unanswered map[string]int  // by key; guarded by mu
}

func startNodeLoss(t *testing.T) *nodeLoss {
	t.Helper()
	x := &nodeLoss{cluster: newCluster(t), ledger: newLedger(), free: newTally(t), unanswered: make(map[string]int)}
	x.start(4, "--bans", "off") // these callers do not wait
	x.knowEachOther()
	x.key, x.frees = x.newCaller(), x.newKeys("free", 4, "free")
	for i, s := range x.nodes {
		timeout := 10 * time.Second
		if x.doomed(i) {
			timeout = 300 * time.Millisecond
		}
		x.asked = append(x.asked, s.impatient(timeout))
	}
	awaitRoomInMinute(t, 8*time.Second)
	return x
}

// doomed reports whether a node is to be lost.
func (x *nodeLoss) doomed(i int) bool { return i >= 2 }

// askOrCreate lists or creates on some node. Only those that are lost may fail.
func (x *nodeLoss) askOrCreate(random *rand.Rand) {
	i := random.IntN(len(x.asked))
	if x.doomed(i) && x.lost.Load() {
		return // a proxy would have noticed
	}
	method, want, body, name := http.MethodGet, http.StatusOK, "", ""
	if random.IntN(2) == 0 {
		name = fmt.Sprint("n", x.sent.Add(1))
		x.ledger.send(name)
		method, want, body = http.MethodPost, http.StatusCreated, categoryBody(name)
	}
	begin := time.Now()
	a, err := x.asked[i].try(method, x.asked[i].api+"/v1/categories", strings.NewReader(body), withKey(x.key))
	switch {
	case err != nil && x.doomed(i): // it was on its way
	case err != nil:
		x.t.Errorf("another node does not answer: %v", err)
	case a.StatusCode != want:
		x.t.Errorf("a node answers %d %.300s", a.StatusCode, a.body)
	case name != "":
		x.ledger.acknowledge(a.category(x.t))
	}
	if !x.doomed(i) && x.lost.Load() {
		x.mu.Lock()
		x.took = append(x.took, time.Since(begin))
		x.mu.Unlock()
	}
}

// spend asks for lists with the keys of Free accounts, on all nodes that live;
// some of them may be about to be lost.
func (x *nodeLoss) spend(each int) {
	burst{nodes: x.asked[:len(x.nodes)], keys: x.frees, each: each, clients: 8, spread: even}.send(func(s *server, key string) {
		begin := time.Now()
		a, err := s.tryList(key)
		switch {
		case err == nil:
			x.free.note(key, a, time.Since(begin))
		case x.doomed(slices.Index(x.asked, s)):
			x.mu.Lock()
			x.unanswered[key]++
			x.mu.Unlock()
		default:
			x.t.Errorf("another node does not answer: %v", err)
		}
	})
}

// check holds what the clients saw against what must be.
func (x *nodeLoss) check() {
	x.t.Helper()
	const limit = 60
	for _, key := range x.frees {
		x.free.eachMinute(key, func(end int64, w window) {
			if w.admitted > limit || w.refused > 0 && w.admitted+x.unanswered[key] < limit {
				x.t.Errorf("an account was admitted %d times in the minute until %d, and %d were not answered", w.admitted, end, x.unanswered[key])
			}
		})
	}
	for _, s := range x.nodes {
		x.ledger.check(s.categories(x.key))
	}
	if v := x.ledger.verdict(); v != (verdict{}) {
		x.t.Error(v)
	}
}

// TestClusterCountsItsNodes: the others know in time that a node was killed, and that one
// was stopped.
func TestClusterCountsItsNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(2)
	for _, way := range []struct {
		name  string
		end   func(*server)
		bound time.Duration
	}{
		{"a node is stopped", (*server).mustStop, nodeLeft},
		{"a node is killed", (*server).kill, nodeGone},
	} {
		c.control().InTime(way.name+", and the others know", way.bound, func() time.Duration {
			s := c.startOne()
			c.knowEachOther()
			way.end(s)
			c.forget(s)
			c.control().Lap()
			took := unseen(t, 2*way.bound, "the others know", func() bool { return c.know(2) })
			t.Logf("%s: the others knew after %s", way.name, took.Round(10*time.Millisecond))
			return took
		})
	}
	c.mustStop()
}

// TestClusterThatCountsApartSaysSo: nodes that share a database and count each in
// its own memory are a mistake, which the log tells, and the metrics that the alert
// PetcatCountsApart looks at.
func TestClusterThatCountsApartSaysSo(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(2, "--limiter", "memory")
	c.each(func(s *server) {
		eventually(t, 5*time.Second, "the log warns", func() bool {
			return strings.Contains(s.log.String(), "several nodes count in their own memory") &&
				strings.Contains(s.log.String(), "give all nodes the same --limiter")
		})
		if nodes := s.metric("petcat_nodes"); nodes != 2 {
			t.Errorf("petcat_nodes is %v, want 2", nodes)
		}
		if _, metrics := s.ask("/metrics"); strings.Contains(metrics, "petcat_limiter_shared_total") {
			t.Error("there is petcat_limiter_shared_total where nothing is shared")
		}
	})
	c.mustStop()
	alone := newCluster(t)
	alone.start(1, "--limiter", "memory")
	key := alone.newKey("acme", "free")
	y := newTally(t)
	burst{nodes: alone.nodes, keys: []string{key}, each: 100, clients: 8, spread: even}.send(y.ask)
	wantError(t, alone.nodes[0].list(key), http.StatusTooManyRequests, petcat.CodeRateLimitExceeded)
	s := alone.nodes[0]
	alone.mustStop()
	if strings.Contains(s.log.String(), "several nodes") {
		t.Error("a node that is alone warns of others")
	}
}
