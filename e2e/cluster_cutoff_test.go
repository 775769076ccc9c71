package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"petcat/internal/pgtest"
	"petcat/internal/proxytest"
)

// TestClusterNodeWithoutRedis: a node that alone cannot reach Redis admits its share.
// Once the others know, they leave room for it: what all admit is the quota.
func TestClusterNodeWithoutRedis(t *testing.T) {
	t.Parallel()
	const limit, each, clients = 60, 150, 8
	c := newCluster(t)
	// A user of its own stands for the way of the last node. A proxy in this process
	// would be as late as the process, which is busy.
	const user, password = "last", "secret"
	c.redis.MustDo("ACL", "SETUSER", user, "on", ">"+password, "~*", "&*", "+@all")
	cut := func() {
		c.redis.MustDo("ACL", "SETUSER", user, "off")
		c.redis.MustDo("CLIENT", "KILL", "USER", user)
	}
	heal := func() { c.redis.MustDo("ACL", "SETUSER", user, "on") }
	c.start(2, "--bans", "off") // these callers do not wait
	others := c.nodes
	c.startOne("--bans", "off", "--limiter", fmt.Sprintf("redis://%s:%s@%s", user, password, c.redis.Address()))
	c.haveShares()
	for range often(t, 1, 10) {
		// The others know after two beats of 2 s.
		awaitRoomInMinute(t, 12*time.Second)
		c.awaitWell(10 * time.Second)
		cut()
		keys, y := c.newKeys(fmt.Sprint("cut", c.bursts), 3, "free"), newTally(t)
		burst{nodes: c.nodes, keys: keys, each: each, clients: clients, spread: even}.send(y.ask)
		for _, key := range keys {
			y.eachMinute(key, func(end int64, w window) {
				t.Logf("one of three nodes is cut off from Redis: %d are admitted in that minute", w.admitted)
				if w.admitted > limit+limit/3 {
					t.Errorf("%d were admitted in the minute until %d, in which one of three nodes was cut off; want %d at most", w.admitted, end, limit+limit/3)
				}
			})
		}
		nextMinute()
		for _, spread := range []spread{even, skewed} {
			c.exactlyBy(others, "one of three nodes is cut off from Redis, and the others know", limit, func(begins func()) []int {
				return c.spendMinutes("cut off", burst{nodes: c.nodes, each: 10 * each, clients: clients, spread: spread, begins: begins}, 1, func() {})
			})
		}
		heal()
		c.awaitWell(10 * time.Second)
		for _, n := range c.spendMinutes("back", burst{nodes: c.nodes, each: each, clients: clients, spread: even}, 3, func() {}) {
			if n > limit {
				t.Errorf("%d were admitted in the minute in which a node is no longer cut off; want %d at most", n, limit)
			}
		}
	}
	c.mustStop()
}

// nextMinute waits until the next minute has begun.
func nextMinute() {
	lapse(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 100*time.Millisecond)))
}

// TestClusterNodeWithoutPostgres: a node that alone cannot reach PostgreSQL counts
// together with the others on Redis.
func TestClusterNodeWithoutPostgres(t *testing.T) {
	t.Parallel()
	const limit, accounts, clients, each = 60, 3, 8, 150
	c := newCluster(t)
	toPostgres := proxytest.New(t, c.postgres.Address())
	c.start(2, "--bans", "off") // these callers do not wait
	last := c.launchOn(pgtest.ByTCP(c.database, toPostgres.Address()), "--bans", "off")
	last.awaitReady()
	c.nodes = append(c.nodes, last)
	c.knowEachOther()
	for i := range often(t, 2, 10) {
		spread := []spread{even, skewed}[i%2]
		c.exactly("one of three nodes is cut off from PostgreSQL", limit, func(begins func()) []int {
			c.bursts++
			keys, y := c.newKeys(fmt.Sprint("apart", c.bursts), accounts, "free"), newTally(t)
			lapse(heardWithin)
			awaitRoomInMinute(t, 15*time.Second)
			for _, key := range keys {
				for _, s := range c.nodes { // each has it in memory
					y.ask(s, key)
				}
			}
			begins()
			toPostgres.Cut()
			defer toPostgres.Heal()
			burst{nodes: c.nodes, keys: keys, each: each, clients: clients, spread: spread}.send(y.ask)
			var admitted []int
			for _, key := range keys {
				y.eachMinute(key, func(_ int64, w window) { admitted = append(admitted, w.admitted) })
			}
			return admitted
		})
	}
	c.awaitWell(10 * time.Second)
	wantStatus(t, last.list(c.newCaller()), http.StatusOK)
	c.mustStop()
}
