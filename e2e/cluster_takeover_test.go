package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"petcat/internal/redistest"
	"petcat/internal/stalltest"
)

// TestClusterShardTakeover: when a replica takes over a shard of a Redis cluster without
// asking anybody, the accounts of that shard get at most twice their quota in that minute,
// and all others exactly their quota.
func TestClusterShardTakeover(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	shards := redistest.StartCluster(t)
	flags := []string{"--bans", "off", "--limiter", shards.URL()} // these callers do not wait
	c.start(3, flags...)
	c.haveShares()
	for range often(t, 1, 10) {
		c.control().Try("a replica takes over a shard", func() string { return c.takeover(shards) })
	}
	c.mustStop()
}

// takeover spends the minute of some accounts on one node, lets a replica that knows
// nothing of that take over the first shard, and spends it again on the others. It returns
// what the machine may have spoilt.
func (c *cluster) takeover(shards *redistest.Cluster) (spoilt string) {
	c.t.Helper()
	const limit, clients, each = 60, 8, 80
	c.bursts++
	prefix, y := fmt.Sprint("takeover", c.bursts, " "), newTally(c.t)
	var keys []string
	onShard := make(map[string]bool)
	replica, primary := shards.Replicate(c.t, 0), shards.Servers[0]
	for i, key := range c.newKeys(prefix, 64, "free") {
		if i%5 == 0 { // neighbours are on the same shard
			keys = append(keys, key)
		}
	}
	nextMinute() // a first replica began an epoch
	c.control().Lap()
	c.awaitWell(10 * time.Second)
	replica.Hang()
	primary.MustDo("CLIENT", "KILL", "TYPE", "replica")
	spend := func(nodes []*server) {
		burst{nodes: nodes, keys: keys, each: each, clients: clients, spread: even}.send(y.ask)
	}
	spend(c.nodes[:1])
	for i, key := range keys {
		onShard[key] = primary.MustDo("KEYS", "*:"+c.accountNumber(fmt.Sprint(prefix, 5*i))) != ""
	}
	primary.Kill() // else the replica might catch up before it takes over
	replica.Resume()
	replica.MustDo("CLUSTER", "FAILOVER", "TAKEOVER")
	shards.Servers[0] = replica
	for range 3 { // at once, while nodes find out, and when they have
		spend(c.nodes[1:])
		lapse(time.Second)
	}
	c.awaitWell(10 * time.Second)
	spend(c.nodes)

	most, moved := 0, 0
	for _, key := range keys {
		y.eachMinute(key, func(end int64, w window) {
			switch n := w.admitted; {
			case onShard[key]:
				moved++
				most = max(most, n)
				if n < limit && !stalltest.Race || n > 2*limit {
					c.t.Errorf("an account of the shard that was taken over was admitted %d times in the minute until %d; want %d to %d", n, end, limit, 2*limit)
				}
			case n > 2*limit:
				c.t.Errorf("an account of another shard was admitted %d times in the minute until %d; want %d", n, end, limit)
			case n != limit:
				spoilt = fmt.Sprintf("an account of another shard was admitted %d of %d times", n, limit)
			}
		})
	}
	c.t.Logf("%d of %d accounts were on the shard that was taken over, and admitted %d of %d at most", moved, len(keys), most, limit)
	if moved == 0 || moved == len(keys) || most == limit && spoilt == "" {
		c.t.Errorf("%d of %d accounts were on the shard, and the replica knew of all: this shows nothing", moved, len(keys))
	}
	return spoilt
}

// accountNumber returns the number of an account, by which its counts are called.
func (c *cluster) accountNumber(name string) string {
	c.t.Helper()
	var a struct{ ID string }
	must(c.t, json.Unmarshal([]byte(petcatDoes(c.t, c.database, "account", "show", name, "--json")), &a))
	return strings.TrimPrefix(a.ID, "acct_")
}
