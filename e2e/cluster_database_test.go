package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// inDatabase has nodes count in PostgreSQL, without Redis.
var inDatabase = []string{"--bans", "off", "--limiter", "database"}

// databasePause is the pause of clients in bursts that PostgreSQL counts: 64 of them then
// send some 1,500 requests a second.
const databasePause = 40 * time.Millisecond

// TestClusterLimitIsExactInDatabase: nodes that count in PostgreSQL admit exactly the
// quota, too, however the load is spread, and also when one of them is killed or hangs.
func TestClusterLimitIsExactInDatabase(t *testing.T) {
	c := newCluster(t)
	c.pause = databasePause
	c.redis.Kill()
	c.start(4, inDatabase...)
	c.haveShares()
	for range often(t, 1, 5) {
		c.minuteIsExact("even load", even)
		c.minuteIsExact("skewed load", skewed)
	}
	c.dayIsExact()
	killed, hung := c.nodes[3], c.nodes[2]
	c.losesInDatabase("one is killed", killed, killed.kill)
	c.losesInDatabase("one hangs", hung, func() { hung.signal(sigStop) })
	hung.signal(sigContinue)
	c.nodes = append(c.nodes, hung)
	c.minuteIsExact("the one that hung is back", skewed)
	c.mustStop()
}

// losesInDatabase has nodes lose one while it charges accounts, which the others go on
// to spend: what it had begun holds them up for a moment at most.
func (c *cluster) losesInDatabase(what string, s *server, lose func()) {
	c.t.Helper()
	c.bursts++
	key := c.newKey(fmt.Sprint("lost", c.bursts), "free")
	lost := s.impatient(300 * time.Millisecond)
	defer lost.client.CloseIdleConnections()
	stop := stream(8, 5*time.Millisecond, func(*rand.Rand) { _, _ = lost.tryList(key) })
	defer stop()
	lapse(50 * time.Millisecond)
	lose()
	c.forget(s)
	c.minuteIsExact(what, even)
	c.minuteIsExact(what, skewed)
	stop()
	y := newTally(c.t)
	burst{nodes: c.nodes, keys: []string{key}, each: 100, clients: 8, spread: even, pause: c.pause}.send(y.ask)
	if n := y.admitted(key); n > 60 {
		c.t.Errorf("%s: the others admitted %d of its account", what, n)
	}
}
