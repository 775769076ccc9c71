package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// switching is a cluster under load that loses its Redis again and again.
type switching struct {
	*cluster
	steady string // a key without limits
	day    string // a key whose minutes never end and whose day does
	stream *tally // requests with those two, which go on all the time
	free   *tally // requests on Free
	losses int
}

// switchDay is how many requests a day has of the key whose day ends.
const switchDay = 5_000

// streams is how many clients go on all the time.
const streams = 8

// loss is something that happens to Redis or PostgreSQL.
type loss struct {
	name       string
	lose, heal func()
}

// TestClusterLosesRedis: whatever happens to Redis, nobody gets an answer of 5xx
// or one without headers, nobody waits, and nobody gets more than his quota,
// but for what was in flight in the minute in which it happens.
func TestClusterLosesRedis(t *testing.T) {
	c := newCluster(t)
	c.start(3, "--bans", "off") // these callers do not wait
	c.haveShares()
	awaitRoomInDay(t, 2*time.Minute)
	x := &switching{
		cluster: c, stream: newTally(t), free: newTally(t),
		steady: c.newCaller(),
		day:    c.newKey("day", "enterprise", "--per-minute", "1000000", "--per-day", fmt.Sprint(switchDay)),
	}
	stop := stream(streams, 20*time.Millisecond, func(random *rand.Rand) {
		key := x.steady
		if random.IntN(8) == 0 {
			key = x.day
		}
		x.stream.ask(c.nodes[random.IntN(len(c.nodes))], key)
	})
	for range often(t, 1, 20) {
		x.suffers(loss{"killed", c.redis.Kill, c.redis.Restart})
		x.suffers(loss{"hung", c.redis.Hang, c.redis.Resume})
		x.suffers(loss{"emptied", c.redis.Flush, func() {}})
		x.suffers(loss{"restarted", c.redis.Restart, func() {}})
	}
	stop()
	x.minuteIsExact("after all of that", even)
	x.endDay()
	c.mustStop()
}

// suffers has a loss happen. Answers may only be late when the machine stalls, and so may
// the counters: a look that is not answered makes their second begin anew.
func (x *switching) suffers(l loss) {
	x.t.Helper()
	x.control().Try("Redis "+l.name, func() string { return x.suffersOnce(l) })
}

// suffersOnce spends a minute of some accounts in the middle of which Redis is
// lost, and gets it back. It returns which answers came late, or that Redis did.
func (x *switching) suffersOnce(l loss) (late string) {
	x.t.Helper()
	const accounts, clients, before, after = 6, 8, 24, 100
	// The load is even. What was in flight may have been counted by Redis and by the
	// node, and what is left is divided by each node as it knows it.
	most := 60 + clients + len(x.nodes)
	name := fmt.Sprint(l.name, x.losses)
	keys, calmKeys := x.newKeys(name, accounts, "free"), x.newKeys(name+"calm", accounts, "free")
	spend := func(keys []string, each int) {
		burst{nodes: x.nodes, keys: keys, each: each, clients: clients, spread: even}.send(x.free.ask)
	}
	awaitRoomInMinute(x.t, 15*time.Second) // a node says for some seconds after a loss that it is cut off
	x.control().Lap()
	_ = x.stream.lap()
	spend(calmKeys, before+after) // what follows waits for the machine as this does
	calm := percentile(x.stream.lap(), 99)
	spend(keys, before)
	l.lose()
	x.losses++
	spend(keys, after)
	lapse(time.Second) // the stream goes on without it
	l.heal()
	back := x.awaitWell(10 * time.Second)
	spend(keys, after)
	// Of fewer answers, one in 100 would be less than what was in flight when it happened.
	var took []time.Duration
	eventually(x.t, 10*time.Second, "there are enough answers", func() bool {
		took = append(took, x.stream.lap()...)
		return len(took) >= 125*streams
	})
	p99, slowest := percentile(took, 99), percentile(took, 100)
	var admitted []int
	for _, key := range keys {
		admitted = append(admitted, x.free.admitted(key))
		x.free.eachMinute(key, func(end int64, w window) {
			if w.admitted > most || w.refused > 0 && w.admitted < 40 {
				x.t.Errorf("Redis %s: an account was admitted %d times in the minute until %d", l.name, w.admitted, end)
			}
		})
	}
	x.t.Logf("Redis %s: 99 in 100 of %d answers within %s, %s before, the slowest within %s; all was well %s after it was there again; admitted of 60: %v",
		l.name, len(took), p99.Round(time.Millisecond), calm.Round(time.Millisecond), slowest.Round(time.Millisecond), back.Round(time.Millisecond), admitted)
	if p99 > calm+countersWait {
		return fmt.Sprintf("99 in 100 answers took up to %s, and %s before", p99, calm)
	}
	if slowest > calm+countersWait+leaseWait {
		return fmt.Sprintf("an answer took %s", slowest)
	}
	if back > countersBack {
		return fmt.Sprintf("the counters counted again after %s", back)
	}
	return ""
}

// A request waits so long for the counters at most, and then for the day's lease from
// PostgreSQL, if it needs one.
const (
	countersWait = 50 * time.Millisecond
	leaseWait    = 2 * time.Second
)

// countersBack is how soon after their return the counters count again: a node looks four
// times a second, and then they must have answered for one.
const countersBack = 1500 * time.Millisecond

// endDay spends what is left of the day.
func (x *switching) endDay() {
	x.t.Helper()
	burst{nodes: x.nodes, keys: []string{x.day}, each: switchDay + 100, clients: 8, spread: even}.send(x.stream.ask)
	admitted := x.stream.admitted(x.day)
	x.t.Logf("a day of %d admitted %d requests; Redis was lost %d times", switchDay, admitted, x.losses)
	if admitted > switchDay || admitted < switchDay-x.losses*switchDay/100 {
		x.t.Errorf("a day of %d admitted %d requests; Redis was lost %d times", switchDay, admitted, x.losses)
	}
}

// TestClusterMinuteWithoutRedis is without Redis when a minute begins: in that
// one each node admits its share, and all together the quota, also when Redis
// comes back in it.
func TestClusterMinuteWithoutRedis(t *testing.T) {
	t.Parallel()
	const accounts, each, clients, limit = 3, 150, 8, 60
	c := newCluster(t)
	c.start(3, "--bans", "off") // these callers do not wait
	c.knowEachOther()
	keys, y := c.newKeys("free", accounts, "free"), newTally(t)
	spend := func() {
		burst{nodes: c.nodes, keys: keys, each: each, clients: clients, spread: even}.send(y.ask)
	}
	c.redis.Kill()
	eventually(t, 10*time.Second, "all nodes know", func() bool {
		return c.all(func(s *server) bool { return s.readiness().Checks["limiter"] != "ok" })
	})
	minute := time.Now().Truncate(time.Minute).Add(time.Minute)
	lapse(time.Until(minute.Add(100 * time.Millisecond)))
	spend()
	for _, key := range keys {
		if n := y.admitted(key); n != limit {
			t.Errorf("in a minute without Redis an account was admitted %d times; want %d", n, limit)
		}
	}
	c.redis.Restart()
	c.awaitWell(10 * time.Second)
	spend()
	for _, key := range keys {
		y.eachMinute(key, func(end int64, w window) {
			if w.admitted > limit {
				t.Errorf("in the minute in which Redis came back, until %d, an account was admitted %d times; want %d", end, w.admitted, limit)
			}
		})
	}
	c.mustStop()
}
