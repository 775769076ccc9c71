package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// The simulation runs real limiters of several nodes in virtual time, with counters that follow
// the rule of charge_quota and random faults of nodes and counters. The seed determines a
// schedule: goroutines do not share random numbers, and do not act at the same instant. After
// it, world.check compares the decisions with the promises of docs/limits.md.

// world is one schedule.
type world struct {
	rand  *rand.Rand // of simulate, then of disturb
	quota petcat.Quota

	mu       sync.Mutex
	nodes    []*node // running; elements guarded by mu
	all      []*node // guarded by mu
	down     bool    // the counters do not respond; guarded by mu
	rejects  bool    // while down, calls fail at once; guarded by mu
	slow     bool    // guarded by mu
	step     int64   // of the counters' clock; guarded by mu
	stepped  time.Time
	spent    map[petcat.AccountID]petcat.QuotaCount // guarded by mu
	history  map[slot]int64                         // flushed, by day; guarded by mu
	faults   map[int64]bool                         // minutes in which clients may notice a fault; guarded by mu
	emptied  map[int64]int64                        // number of times that the counters lost a minute; guarded by mu
	lost     map[slot]int64                         // requests of a day that the counters lost; guarded by mu
	memory   map[slotOf]int64                       // allowed from memory, by node and minute; guarded by mu
	admitted map[slot]int64                         // by the counters, by minute; guarded by mu
	days     map[slot]int64                         // by the counters, by day; guarded by mu
	rejected map[slot]int64                         // rejected by a minute quota; guarded by mu
	broken   error                                  // the first broken promise; guarded by mu
	decided  int                                    // guarded by mu
}

// slot is a minute or a day of an account.
type slot struct {
	account petcat.AccountID
	index   int64
}

type slotOf struct {
	slot
	node *node
}

func minuteOf(now int64) int64 { return now / int64(time.Minute) }
func dayOf(now int64) int64    { return now / int64(24*time.Hour) }

func (w *world) fail(format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf(format, args...)
	}
}

// fault marks the current minute and its neighbors. The caller must hold mu.
func (w *world) fault() {
	for _, by := range []time.Duration{-time.Minute, 0, time.Minute} {
		w.faults[minuteOf(time.Now().Add(by).UnixNano())] = true
	}
}

// empty makes the counters lose all data. The caller must hold mu.
func (w *world) empty() {
	w.fault()
	now := time.Now().UnixNano() + w.step
	w.emptied[minuteOf(now)]++
	for id, u := range w.spent {
		at := slot{id, dayOf(now)}
		if dayOf(u.Now) == at.index {
			w.lost[at] += max(0, u.DayUsed-w.history[at])
		}
	}
	clear(w.spent)
}

// node is a node with its clock and its unflushed usage.
type node struct {
	*ratelimit.Limiter

	w         *world
	mu        sync.Mutex
	rand      *rand.Rand     // guarded by mu
	step      int64          // of the wall clock; guarded by mu
	asleep    int64          // time for which the monotonic clock stopped; guarded by mu
	steps     int64          // guarded by mu
	until     time.Time      // end of a process pause; guarded by mu
	pending   map[slot]int64 // by day; guarded by mu
	killed    bool           // guarded by mu
	responded time.Time      // time of the last response; guarded by mu
}

func (w *world) newNode() *node {
	n := &node{
		w: w, rand: rand.New(rand.NewPCG(w.rand.Uint64(), 0)), pending: make(map[slot]int64),
		step: w.rand.Int64N(int64(2*time.Second)) - int64(time.Second), responded: time.Now().Add(-time.Hour),
	}
	n.Limiter = newShared(n, n)
	go func() {
		for {
			time.Sleep(time.Second)
			n.wait(0)
			if !n.flush() {
				return
			}
		}
	}()
	return n
}

// Read implements [clock.Clock].
func (n *node) Read() clock.Reading {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now().UnixNano()
	return clock.Reading{Wall: now + n.step, Mono: now - n.asleep}
}

// wait returns when the process is not paused. The delay after a pause differs for each caller.
func (n *node) wait(delay time.Duration) {
	n.mu.Lock()
	d := time.Until(n.until)
	n.mu.Unlock()
	if d > 0 {
		time.Sleep(d + delay)
	}
}

// flush adds the unflushed usage to the history, and reports whether the node runs.
func (n *node) flush() bool {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.killed {
		return false
	}
	if !n.w.down {
		for at, count := range n.pending {
			n.w.history[at] += count
		}
		clear(n.pending)
	}
	return true
}

// Charge implements [petcat.QuotaStore] with latency in both directions.
func (n *node) Charge(ctx context.Context, charges []petcat.QuotaCharge) ([]petcat.QuotaCount, error) {
	w := n.w
	there, back := n.delay(), n.delay()
	n.wait(there)
	done := make(chan []petcat.QuotaCount, 1)
	go func() {
		time.Sleep(there)
		if counts, hangs := w.charge(charges); !hangs {
			time.Sleep(back)
			done <- counts
		}
	}()
	select {
	case counts := <-done:
		n.wait(there)
		if counts == nil {
			return nil, errors.New("connection refused")
		}
		n.mu.Lock()
		n.responded = time.Now()
		n.mu.Unlock()
		return counts, nil
	case <-ctx.Done():
		n.wait(there)
		return nil, ctx.Err()
	}
}

// delay returns a random latency.
func (n *node) delay() time.Duration {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	most := 2 * time.Millisecond
	if n.w.slow && n.rand.IntN(3) == 0 {
		most = 700 * time.Millisecond
	}
	return time.Duration(n.rand.Int64N(int64(most)))
}

// charge is the function charge_quota. While the counters are down, it does not return counts, and
// reports whether the call hangs.
func (w *world) charge(charges []petcat.QuotaCharge) (counts []petcat.QuotaCount, hangs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return nil, !w.rejects
	}
	now := time.Now().UnixNano() + w.step
	for _, q := range charges {
		u := w.spent[q.Account]
		charge(&u, q, now, w.history[slot{q.Account, dayOf(now)}])
		if u.Allowed {
			w.spent[q.Account] = u
		}
		counts = append(counts, u)
	}
	return counts, false
}

// request sends a request to the ith node after a delay, and records the decision. sound is true if
// there is a decision by the counters' clock.
func (w *world) request(i int, id petcat.AccountID, delay time.Duration) (d ratelimit.Decision, sound bool) {
	time.Sleep(delay)
	w.mu.Lock()
	n := w.nodes[i]
	w.mu.Unlock()
	n.wait(delay)
	sent, before := time.Now(), n.Err()
	d, err := n.Spend(context.Background(), ratelimit.Charge{Account: id, Key: 1, Quota: w.quota})
	n.wait(delay)
	// After a second of silence, the node decides from memory.
	local, sound := d.Newest == 0, before == nil && err == nil && n.Err() == nil && time.Since(sent) < time.Second
	w.mu.Lock()
	defer w.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	w.decided++
	if err != nil {
		if !w.faults[minuteOf(time.Now().UnixNano())] && !w.faults[minuteOf(sent.UnixNano())] {
			w.fail("an error without a fault: %v", err)
		}
		return d, false
	}
	minute, day := slot{id, minuteOf(d.Now)}, slot{id, dayOf(d.Now)}
	switch {
	case d.Outcome == ratelimit.MinuteSpent:
		w.rejected[minute]++
		return d, sound
	case d.Outcome != ratelimit.Allowed:
		return d, sound
	case local:
		w.memory[slotOf{minute, n}]++
		if since := time.Since(n.responded); since > 0 && since < time.Second { // 0: at the same time
			w.fail("decided from memory %s after a response", since)
		}
	default:
		w.admitted[minute]++
		w.days[day]++
	}
	if n.killed {
		w.lost[day]++ // the unflushed usage of a killed node is only in the counters
	} else {
		n.pending[day]++
	}
	return d, sound
}

// call sends an account's requests until the end: bursts, or single requests that obey
// Retry-After.
func (w *world) call(id petcat.AccountID, r *rand.Rand, end time.Time, all *sync.WaitGroup) {
	pause, burst, sticky := time.Duration(1+r.Int64N(2500))*time.Millisecond, 1+r.IntN(8), r.IntN(2) == 0
	choose := func() (int, petcat.AccountID, time.Duration) {
		i, delay := r.IntN(len(w.nodes)), time.Duration(r.Int64N(int64(5*time.Millisecond)))
		if sticky {
			i = int(id) % len(w.nodes)
		}
		return i, id, delay
	}
	for time.Now().Before(end) {
		time.Sleep(time.Duration(r.Int64N(int64(2 * pause))))
		for range burst {
			i, id, delay := choose()
			all.Go(func() { w.request(i, id, delay) })
		}
		if r.IntN(8) > 0 {
			continue
		}
		first, ok := w.request(choose())
		if !ok || first.Outcome != ratelimit.MinuteSpent {
			continue
		}
		rejected := time.Now() // a node's cache may be a minute old
		time.Sleep(time.Duration(first.RetryAfter) * time.Second)
		again, ok := w.request(choose())
		w.mu.Lock()
		same := again.Outcome == ratelimit.MinuteSpent && again.Minute.Reset <= first.Minute.Reset
		if ok && same && w.stepped.Before(rejected.Add(-time.Minute)) {
			w.fail("a client that waited for %d s was rejected in the same minute: %+v at %v, then %+v at %v; step %v",
				first.RetryAfter, first, rejected, again, time.Now(), time.Duration(w.step))
		}
		w.mu.Unlock()
	}
}

// disturb causes random faults.
func (w *world) disturb(end time.Time) {
	for time.Now().Before(end) {
		w.mu.Lock()
		pause := time.Duration(w.rand.Int64N(int64(40 * time.Second)))
		what := w.rand.IntN(8)
		lasts := time.Duration(1+w.rand.IntN(25)) * time.Second
		w.mu.Unlock()
		time.Sleep(pause)
		w.mu.Lock()
		i := w.rand.IntN(len(w.nodes))
		n := w.nodes[i]
		during := func(set *bool) {
			*set = true
			for range lasts / time.Second {
				w.fault()
				w.mu.Unlock()
				time.Sleep(time.Second)
				w.mu.Lock()
			}
			*set = false
			w.fault()
		}
		switch what {
		case 0: // the database is down
			w.rejects = w.rand.IntN(2) == 0
			during(&w.down)
		case 1: // it is down, and restarts empty
			w.rejects = w.rand.IntN(2) == 0
			during(&w.down)
			w.empty()
		case 2: // crash or failover
			w.empty()
		case 3: // it is slow
			during(&w.slow)
		case 4: // its clock is set
			w.setBack()
			w.step += w.rand.Int64N(int64(20*time.Second)) - int64(10*time.Second)
			w.stepped = time.Now()
			w.setBack()
		case 5: // a node's clock is set
			n.mu.Lock()
			if n.asleep == 0 { // one of the two clocks is right
				n.step, n.steps = w.rand.Int64N(int64(2*time.Minute))-int64(time.Minute), n.steps+1
			}
			n.mu.Unlock()
		case 6: // a node is paused, or its machine is suspended
			w.fault()
			n.mu.Lock()
			n.until = time.Now().Add(lasts)
			if w.rand.IntN(2) == 0 && n.steps == 0 {
				n.asleep += int64(lasts)
			}
			n.mu.Unlock()
			w.mu.Unlock()
			time.Sleep(lasts)
			w.mu.Lock()
			w.fault()
		default: // a node is killed and another one starts
			w.fault()
			w.nodes[i] = w.newNode()
			w.all = append(w.all, w.nodes[i])
			n.mu.Lock()
			n.killed = true
			for at, count := range n.pending {
				w.lost[at] += count
			}
			n.mu.Unlock()
		}
		w.mu.Unlock()
	}
}

// setBack records that the counters may grant the current minute and day again, because their
// clock is set. The caller must hold mu.
func (w *world) setBack() {
	before := maps.Clone(w.spent)
	w.empty()
	w.spent = before
}

// simulate runs a schedule and returns its world.
func simulate(seed uint64) (w *world) {
	r := rand.New(rand.NewPCG(seed, 1))
	w = &world{
		rand:     r,
		quota:    petcat.Quota{PerMinute: 20, PerDay: int64(60 + r.IntN(100))},
		spent:    make(map[petcat.AccountID]petcat.QuotaCount),
		history:  make(map[slot]int64),
		faults:   make(map[int64]bool),
		emptied:  make(map[int64]int64),
		lost:     make(map[slot]int64),
		memory:   make(map[slotOf]int64),
		admitted: make(map[slot]int64),
		days:     make(map[slot]int64),
		rejected: make(map[slot]int64),
	}
	// Some schedules start shortly before midnight.
	midnight := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
	time.Sleep(time.Until(midnight.Add(-time.Duration(r.IntN(2)) * 3 * time.Minute)))
	for range 1 + r.IntN(4) {
		w.nodes = append(w.nodes, w.newNode())
	}
	w.all = append(w.all, w.nodes...)
	healthy, end := r.IntN(4) == 0, time.Now().Add(6*time.Minute)
	var load sync.WaitGroup
	if !healthy {
		load.Go(func() { w.disturb(end) })
	}
	for id := range petcat.AccountID(3) {
		own := rand.New(rand.NewPCG(seed, uint64(id)+2))
		load.Go(func() { w.call(id, own, end, &load) })
	}
	load.Wait()
	for _, n := range w.all {
		n.mu.Lock()
		n.killed = true
		n.mu.Unlock()
		n.Close()
	}
	time.Sleep(2 * time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.check(healthy)
	return w
}

// check compares the decisions with the promises. The caller must hold mu.
func (w *world) check(healthy bool) {
	if healthy && len(w.memory) > 0 {
		w.fail("decided from memory without a fault")
	}
	for at, n := range w.admitted {
		if most := w.quota.PerMinute * (1 + w.emptied[at.index]); n > most {
			w.fail("the counters admitted %d in minute %d, want at most %d", n, at.index, most)
		}
	}
	for at, n := range w.memory {
		// If its clock differs from the counters' clock, a minute may begin again.
		if most := w.quota.PerMinute * (2 + at.node.steps + w.emptied[at.index]); n > most {
			w.fail("the memory of a node admitted %d in minute %d, want at most %d", n, at.index, most)
		}
	}
	for at, n := range w.days {
		if most := w.quota.PerDay + w.lost[at]; n > most {
			w.fail("the counters admitted %d on day %d, want at most %d", n, at.index, most)
		}
	}
	for at := range w.rejected {
		if n := w.admitted[at]; !w.faults[at.index] && n != w.quota.PerMinute {
			w.fail("in minute %d without faults, requests were rejected and %d were admitted, want %d",
				at.index, n, w.quota.PerMinute)
		}
	}
}

// TestSimulate runs schedules with fixed seeds.
func TestSimulate(t *testing.T) {
	for seed := range uint64(100) {
		simulateOne(t, seed)
	}
}

func simulateOne(t *testing.T, seed uint64) (decided int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := simulate(seed)
		if w.broken != nil {
			t.Errorf("schedule %d: %v", seed, w.broken)
		}
		decided = w.decided
	})
	return decided
}
