package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"petcat/internal/stalltest"
)

// TestClusterDatabaseKillsKeepLimits: nodes that count in PostgreSQL go on while it is killed and
// started again under load. Callers whose days they know get no 5xx, and at most twice their
// quota in the minute in which it happens.
func TestClusterDatabaseKillsKeepLimits(t *testing.T) {
	t.Parallel()
	const accounts, clients, before, after = 6, 8, 24, 100
	away := after
	if stalltest.Race { // more would take longer than the nodes go on
		away = before
	}
	c := newClusterApart(t)
	c.redis.Kill()
	c.start(3, inDatabase...)
	c.haveShares()
	steady, flow := c.newCaller(), newTally(t)
	c.remember(steady)
	stop := stream(clients, databasePause, func(random *rand.Rand) { flow.ask(c.nodes[random.IntN(len(c.nodes))], steady) })
	defer stop()
	for i := range often(t, 1, 20) {
		keys, y := c.newKeys(fmt.Sprint("kill", i, " "), accounts, "free"), newTally(t)
		spend := func(each int) {
			burst{nodes: c.nodes, keys: keys, each: each, clients: clients, spread: even, pause: databasePause / 4}.send(y.ask)
		}
		lapse(heardWithin)
		awaitRoomInMinute(t, 15*time.Second)
		spend(before) // all nodes know these days now
		c.postgres.Kill()
		spend(away)
		must(t, c.postgres.Start(t.Context()))
		spend(after)
		c.awaitWell(10 * time.Second)
		spend(after)
		var admitted []int
		for _, key := range keys {
			y.eachMinute(key, func(end int64, w window) {
				admitted = append(admitted, w.admitted)
				if w.admitted > mostOfTwo || w.refused > 0 && w.admitted == 0 {
					t.Errorf("PostgreSQL was killed: an account was admitted %d times in the minute until %d; want %d at most", w.admitted, end, mostOfTwo)
				}
			})
		}
		t.Logf("PostgreSQL was killed and started again: admitted of 60 in each minute: %v", admitted)
	}
	stop()
	c.mustStop()
}
