package clusterlimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counterstest"
	"petcat/internal/limittest"
	"petcat/internal/randomtest"
	"petcat/internal/ratelimit"
)

// TestClusters lets clusters of real limiters go through the schedules of the
// simulation, in virtual time: a few, because each takes as long as many simulated ones.
// PETCAT_CLUSTERS says how many, PETCAT_CLUSTER replays one by its seed.
func TestClusters(t *testing.T) {
	t.Parallel()
	n, first := 60, rand.Uint64()
	if s := os.Getenv("PETCAT_CLUSTERS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("PETCAT_CLUSTER"); s != "" {
		n = 1
		first, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("%d schedules from seed %d", n, first)
	seeds := randomtest.Kept(t)
	for i := range uint64(n) {
		seeds = append(seeds, first+i)
	}
	for _, seed := range seeds {
		s := newSchedule(seed)
		synctest.Test(t, func(t *testing.T) {
			c := &cluster{T: t, schedule: s, random: rand.New(rand.NewPCG(s.seed, 2))}
			c.run()
			if t.Failed() {
				t.Errorf("PETCAT_CLUSTER=%d go test ./internal/clusterlimit -run TestClusters\n%s", s.seed, s)
			}
		})
		if t.Failed() {
			randomtest.Keep(t, seed)
			return
		}
	}
}

// cluster is a cluster of real limiters.
type cluster struct {
	*testing.T

	schedule                    *schedule
	began                       time.Time
	counters                    *counterstest.Reference
	days                        *limittest.Days
	replica                     func()
	background, requests, beats sync.WaitGroup
	done                        chan struct{}

	mu                            sync.Mutex
	random                        *rand.Rand             // guarded by mu
	nodes                         []*clusterNode         // guarded by mu
	rows                          rows                   // guarded by mu
	quotas                        []petcat.Quota         // guarded by mu
	most                          []petcat.Quota         // that were in force; guarded by mu
	faults                        []realInterval         // guarded by mu
	bad                           faultsNow              // guarded by mu
	counted                       map[countKey]*[2]int64 // sent and admitted; guarded by mu
	storeTrouble, countersTrouble bool                   // guarded by mu
	ahead                         time.Duration          // the counters' clock; guarded by mu
	steps                         int64                  // of that clock; guarded by mu
	windows                       []clusterWindow        // guarded by mu
	ofMinute                      map[int64]int          // the last window of a minute's index; guarded by mu
}

type faultsNow struct {
	down, slow, lossy, doubled, store time.Time // until then
	part, twice                       float64
}

type realInterval struct{ from, to time.Time }

// clusterNode is a limiter with its ways to the counters and the stores. It implements
// [counters.Counters] for it.
type clusterNode struct {
	c       *cluster
	id      string
	limiter *Limiter
	store   *limittest.Process
	members atomic.Pointer[Membership]

	// Guarded by the cluster's mu.
	joined, seen      time.Time
	cutUntil, noStore time.Time
	dead              bool
}

func (c *cluster) run() {
	c.began = time.Now()
	c.done = make(chan struct{})
	c.counted, c.ofMinute = make(map[countKey]*[2]int64), make(map[int64]int)
	c.counters = counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() })
	c.days = limittest.NewDays()
	c.quotas, c.most = append([]petcat.Quota(nil), c.schedule.quotas...), append([]petcat.Quota(nil), c.schedule.quotas...)
	_, _, _ = c.counters.Probe(c.Context(), 0)
	time.Sleep(time.Duration(c.schedule.begin%int64(time.Minute)) + time.Minute)
	c.began = time.Now()
	for range c.schedule.nodes {
		c.join(10 * time.Minute)
	}
	for _, n := range c.nodes { // they have known each other for long
		n.beat()
		n.start()
	}
	for i, e := range c.schedule.events {
		if c.schedule.mask.has(i) {
			c.background.Go(func() {
				time.Sleep(e.at)
				c.happen(e)
			})
		}
	}
	time.Sleep(c.schedule.length)
	c.background.Wait()
	c.requests.Wait()
	close(c.done)
	c.beats.Wait()
	c.mu.Lock()
	c.bad = faultsNow{}
	nodes := c.nodes
	c.mu.Unlock()
	for _, n := range nodes {
		if !n.dead {
			n.store.Break(limittest.Faults{})
		}
		_ = n.limiter.Close(context.WithoutCancel(c.Context()))
	}
	time.Sleep(time.Minute) // calls that nobody waits for end
	c.check()
}

func (c *cluster) join(ago time.Duration) {
	c.mu.Lock()
	n := &clusterNode{c: c, id: fmt.Sprintf("%c%d", 'a'+rune(c.random.IntN(26)), len(c.nodes)), store: c.days.Process(), joined: time.Now().Add(-ago), seen: time.Now()}
	c.rows.join(n.id, n.joined.UnixNano(), n.seen.UnixNano())
	n.members.Store(&Membership{})
	c.nodes = append(c.nodes, n)
	c.mu.Unlock()
	n.beat()
	if ago == 0 {
		n.start()
	}
}

// start starts a node's limiter.
func (n *clusterNode) start() {
	c := n.c
	limiter := New(c.Context(), Options{
		Counters: n, Clock: clock.NewSystem(), Days: n.store, Membership: n.members.Load,
		Banned: func(b petcat.Ban) { c.banned(b) },
	})
	c.mu.Lock()
	n.limiter = limiter
	c.mu.Unlock()
	c.beats.Go(func() {
		for {
			select {
			case <-c.done:
				return
			case <-time.After(n.members.Load().UntilHeartbeat(limiter.CutOff())):
				n.beat()
			}
		}
	})
}

// beat writes the node's row and reads the others.
func (n *clusterNode) beat() {
	c := n.c
	c.mu.Lock()
	defer c.mu.Unlock()
	cut := uint64(0)
	if n.limiter != nil {
		cut = n.limiter.CutOff()
	}
	now := time.Now()
	if n.dead || n.noStore.After(now) || c.bad.store.After(now) {
		return
	}
	n.seen = now
	members, _ := c.rows.beat(n.id, now.UnixNano(), cut)
	n.members.Store(&Membership{ReadAt: clock.NewSystem().Read().Mono, Self: n.id, Members: members})
}

// happen makes an event happen. Nobody is frozen: that is for the simulation alone.
func (c *cluster) happen(h happening) {
	until := time.Now().Add(h.lasts)
	if h.kind == joined {
		if c.fault(until) < 6 {
			c.join(0)
		}
		return
	}
	if h.kind == load {
		c.load(h)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var n *clusterNode
	if h.node < len(c.nodes) {
		n = c.nodes[h.node]
	}
	if h.kind != clockSet { // which alone lets nobody have more
		c.faults = append(c.faults, realInterval{time.Now(), until})
	}
	switch h.kind {
	case countersAway:
		c.bad.down, c.countersTrouble = until, true
	case slow:
		c.bad.slow, c.countersTrouble = until, true
	case lossy:
		c.bad.lossy, c.bad.part, c.countersTrouble = until, h.part, true
	case doubled:
		c.bad.doubled, c.bad.twice, c.countersTrouble = until, h.part, true
	case clockSet:
		c.window(time.Now(), 0) // there may be another one since
		c.counters.Step(0, h.lasts)
		c.ahead += h.lasts
		c.steps++
		c.window(time.Now(), 0)
	case emptied:
		c.counters.Empty(0)
		c.countersTrouble = true
	case restarted:
		c.counters.Restart(0)
		c.countersTrouble = true
	case replicate:
		c.replica = c.counters.Copy(0)
	case promoted:
		if c.replica != nil {
			c.replica()
			c.countersTrouble = true
		}
	case storeAway:
		c.bad.store, c.storeTrouble = until, true
		for _, n := range c.nodes {
			c.breakStore(n, h.lasts)
		}
	case planChanged:
		c.quotas[h.who].PerMinute = h.n
		c.most[h.who].PerMinute = max(c.most[h.who].PerMinute, h.n)
	case cutOff:
		if n != nil {
			n.cutUntil, c.countersTrouble = until, true
		}
	case noDatabase:
		if n != nil {
			n.noStore, c.storeTrouble = until, true
			c.breakStore(n, h.lasts)
		}
	case killed:
		if n != nil {
			n.dead = true
			n.store.Crash()
		}
	default:
	}
}

// fault takes note of a fault, and returns how many nodes there are.
func (c *cluster) fault(until time.Time) (nodes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, realInterval{time.Now(), until})
	return len(c.nodes)
}

// breakStore makes a node's way to the day store bad for a while: calls are lost on
// their way there, or on their way back.
func (c *cluster) breakStore(n *clusterNode, lasts time.Duration) {
	if n.dead {
		return
	}
	n.store.Break(limittest.Faults{Write: errNetwork, Read: errNetwork, LoseAnswer: c.random.IntN(2) == 0})
	c.background.Go(func() {
		time.Sleep(lasts)
		c.mu.Lock()
		defer c.mu.Unlock()
		if !n.dead {
			n.store.Break(limittest.Faults{})
		}
	})
}

func (c *cluster) load(h happening) {
	for i := range h.n {
		c.requests.Go(func() {
			if h.lasts > 0 {
				time.Sleep(h.lasts / time.Duration(h.n) * time.Duration(i))
			}
			c.request(h, i)
		})
	}
}

// request sends one request and takes note of what becomes of it.
func (c *cluster) request(h happening, i int64) {
	asked := time.Now()
	c.mu.Lock()
	k := int64(h.node)
	switch h.how {
	case mostlyOnOne:
		if i%7 == 3 {
			k++
		}
	case evenly:
		k += i
	case anywhere:
		k = c.random.Int64N(int64(len(c.nodes)))
	default:
	}
	n := c.nodes[int(k)%len(c.nodes)]
	serves := !n.dead && n.limiter != nil && time.Since(n.seen) < 30*time.Second
	q := c.quotas[h.who]
	if serves {
		c.count(h.who, asked, asked.Add(c.ahead).UnixNano())[0]++
	}
	c.mu.Unlock()
	if !serves {
		return
	}
	id := petcat.AccountID(h.who + 1)
	d, err := n.limiter.Spend(c.Context(), ratelimit.Charge{Account: id, Key: petcat.KeyID(id), Quota: q})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if !c.storeTrouble && !n.dead {
			c.Errorf("%s: node %s: %v", time.Since(c.began), n.id, err)
		}
		return
	}
	// It waits for charges, for a lease and its grant, and for charges again: see TestWaitInAll.
	wait := timeout
	if asked.Sub(n.joined) < time.Minute+settleBefore || c.steps > 0 { // it may have no share yet
		wait *= timeoutsWithoutShare
	}
	if waited := time.Since(asked); waited > 2*wait+2*timeout && !c.storeTrouble && !c.schedule.smallDays && !n.dead {
		c.Errorf("%s: node %s answered after %s", time.Since(c.began), n.id, waited)
	}
	if d.Verdict == ratelimit.Admitted && !n.dead {
		c.count(h.who, asked, d.Now)[1]++
	}
}
