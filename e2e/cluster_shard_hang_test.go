package e2e

import (
	"fmt"
	"testing"
	"time"

	"petcat/internal/redistest"
)

// TestClusterShardHangs: while a shard of a Redis cluster hangs, the accounts on the others get
// exactly their quota, and none of their requests waits for it until its node decides it
// locally; those on it get at most twice theirs, and no error. A node that starts meanwhile
// answers all of them.
func TestClusterShardHangs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	shards := redistest.StartCluster(t)
	c.start(3, "--bans", "off", "--limiter", shards.URL()) // these callers do not wait
	c.haveShares()
	for range often(t, 1, 3) {
		c.control().Try("a shard hangs", func() string { return c.shardHangs(shards) })
	}
	c.mustStop()
}

// shardHangs spends a minute of some accounts, and the next one while a shard hangs. It
// returns what the machine may have spoilt.
func (c *cluster) shardHangs(shards *redistest.Cluster) (spoilt string) {
	c.t.Helper()
	shard := shards.Servers[0]
	const limit, clients, each = 60, 8, 80
	c.bursts++
	prefix := fmt.Sprint("hang", c.bursts, " ")
	var on, beside []string
	spend := func(keys []string) (y *tally, decidedLocally int) {
		y = newTally(c.t)
		before := c.decidedLocally()
		burst{nodes: c.nodes, keys: keys, each: each, clients: clients, spread: even}.send(y.ask)
		return y, c.decidedLocally() - before
	}
	c.awaitWell(10 * time.Second)
	var keys []string
	var numbers []int
	for i, key := range c.newKeys(prefix, 64, "free") {
		if i%5 == 0 { // neighbours are on the same shard
			keys, numbers = append(keys, key), append(numbers, i)
		}
	}
	calm := func() {
		c.control().Lap()
		c.awaitWell(10 * time.Second) // the counters may have been late before
	}
	calm()
	if _, locally := spend(keys); locally > 0 {
		return fmt.Sprintf("before the shard hung, %d requests were decided locally", locally)
	}
	for i, key := range keys {
		if shard.MustDo("KEYS", "*:"+c.accountNumber(fmt.Sprint(prefix, numbers[i]))) != "" {
			on = append(on, key)
		} else {
			beside = append(beside, key)
		}
	}
	if len(on) == 0 || len(beside) == 0 {
		c.t.Fatalf("%d of %d accounts are on the shard: this shows nothing", len(on), len(keys))
	}
	nextMinute()
	calm()
	shard.Hang()
	well, waited := spend(beside)
	hung, locally := spend(on)
	c.startsBeside(shards, keys, beside[0])
	shard.Resume()
	if locally == 0 {
		c.t.Error("the shard that hung decided requests: this shows nothing")
	}
	for _, key := range beside {
		well.eachMinute(key, func(end int64, w window) {
			if w.admitted != limit {
				spoilt = fmt.Sprintf("an account of another shard was admitted %d of %d times in the minute until %d", w.admitted, limit, end)
			}
		})
	}
	for _, key := range on {
		hung.eachMinute(key, func(end int64, w window) {
			if w.admitted == 0 || w.admitted > 2*limit {
				c.t.Errorf("an account of the shard that hung was admitted %d of %d times in the minute until %d", w.admitted, limit, end)
			}
		})
	}
	c.t.Logf("%d of %d accounts were on the shard that hung, whose nodes decided %d requests themselves", len(on), len(keys), locally)
	if waited > 0 {
		spoilt = fmt.Sprintf("%d requests of other shards' accounts waited for their counters in vain", waited)
	}
	return spoilt
}

// startsBeside starts and stops a node while a shard hangs. It answers with all keys, and
// asks the other shards, one of which has the account of other.
func (c *cluster) startsBeside(shards *redistest.Cluster, keys []string, other string) {
	c.t.Helper()
	s := c.startOne("--bans", "off", "--limiter", shards.URL())
	burst{nodes: []*server{s}, keys: keys, each: 5, clients: 8, spread: even}.send(newTally(c.t).ask)
	eventually(c.t, 5*time.Second, "a node that starts while a shard hangs asks the others", func() bool {
		return !s.list(other).beyondShare() // it has no share of this minute
	})
	if s.well() {
		c.t.Error("a node that starts while a shard hangs says that all is well")
	}
	c.forget(s)
	s.mustStop()
}
