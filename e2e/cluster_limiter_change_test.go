package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestClusterLimiterIsChanged: while --limiter is changed by a rolling restart, an account
// gets at most its minute's quota from each counters that are in use, and from each node
// that counts in its own memory; afterwards exactly its quota again. Its day stays one.
func TestClusterLimiterIsChanged(t *testing.T) {
	changes := []limiterChange{
		{"database", "redis"}, {"redis", "database"}, {"redis", "memory"}, {"memory", "redis"}, {"database", "memory"}, {"memory", "database"},
	}
	changes = changes[:often(t, 1, len(changes))]
	// PostgreSQL that counts is late when other tests keep all processors busy. The first
	// change ends with Redis.
	if len(changes) == 1 {
		t.Parallel()
	}
	for _, change := range changes {
		change.rolls(t)
	}
}

// dayAskedAgain is when nodes ask again whether a day that was used up still is, with what
// it takes them to return what they leased.
const dayAskedAgain = 18 * time.Second

type limiterChange struct{ from, to limiterName }

// limiterName is a value of --limiter, or redis for the cluster's Redis.
type limiterName string

func (l limiterChange) String() string { return fmt.Sprintf("from %s to %s", l.from, l.to) }

// places returns in how many places is counted while so many nodes are restarted.
func (l limiterChange) places(nodes int) (count int) {
	for _, limiter := range []limiterName{l.from, l.to} {
		if limiter == "memory" {
			count += nodes
		} else {
			count++
		}
	}
	return count
}

func (l limiterChange) rolls(t *testing.T) {
	t.Helper()
	const limit, day, nodes = 60, 500, 3
	c := newCluster(t)
	flags := func(limiter limiterName) []string {
		value := string(limiter)
		if limiter == "redis" {
			value = c.redis.URL()
		}
		return []string{"--bans", "off", "--limiter", value} // these callers do not wait
	}
	c.start(nodes, flags(l.from)...)
	c.haveShares()
	keys, y := c.newKeys("free", 3, "free"), newTally(t)
	twice := 0 // requests that a day may have counted twice: by late counters, and by their nodes
	daily := c.newKey("day", "enterprise", "--per-minute", "1000000", "--per-day", fmt.Sprint(day))
	awaitRoomInDay(t, 2*time.Minute)
	awaitRoomInMinute(t, 20*time.Second)

	var routed atomic.Pointer[[]*server]
	route := func(nodes []*server) { routed.Store(&nodes) }
	route(c.nodes)
	all := append(slices.Clone(keys), daily)
	stop := stream(4, 10*time.Millisecond, func(random *rand.Rand) {
		nodes := *routed.Load()
		y.ask(nodes[random.IntN(len(nodes))], all[random.IntN(len(all))])
	})
	for _, old := range slices.Clone(c.nodes) {
		lapse(time.Second)
		c.startOne(flags(l.to)...)
		c.forget(old)
		route(c.nodes)
		lapse(200 * time.Millisecond) // what it was asked before
		twice += old.decidedLocally()
		old.mustStop()
	}
	lapse(time.Second)
	stop()
	twice += c.decidedLocally()
	for _, key := range keys {
		y.eachMinute(key, func(end int64, w window) {
			t.Logf("%s: %d of %d were admitted in the minute until %d", l, w.admitted, limit, end)
			if most := limit * l.places(nodes); w.admitted > most {
				t.Errorf("%s: %d of %d were admitted in the minute until %d; want %d at most", l, w.admitted, limit, end, most)
			}
			// Shared counters begin an epoch when the first node asks them. Until the minute
			// ends, a node that has just joined, and so has no share, refuses.
			if l.to == "memory" && w.admitted < limit && w.refused > 0 {
				t.Errorf("%s: %d of %d were admitted in the minute until %d, and others were refused", l, w.admitted, limit, end)
			}
		})
	}
	if l.to != "memory" {
		if l.to == "database" {
			c.pause = databasePause
		}
		c.haveShares()
		nextMinute()
		c.minuteIsExact(l.String(), even)
	}
	twice -= c.decidedLocally()
	spend := func() {
		burst{nodes: c.nodes, keys: []string{daily}, each: day + 100, clients: 8, spread: even, pause: c.pause}.send(y.ask)
	}
	if spend(); y.admitted(daily) < day {
		lapse(dayAskedAgain) // nodes have returned what they leased to decide locally
		spend()
	}
	twice += c.decidedLocally()
	admitted, least := y.admitted(daily), day*99/100-twice
	t.Logf("%s: a day of %d admitted %d requests; %d were decided locally", l, day, admitted, twice)
	if admitted > day || admitted < least {
		t.Errorf("%s: a day of %d admitted %d requests; want %d at least", l, day, admitted, least)
	}
	c.mustStop()
}
