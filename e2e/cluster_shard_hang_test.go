package e2e

import (
	"fmt"
	"testing"
	"time"

	"petcat/internal/redistest"
)

// TestClusterShardHangs: while a shard of a Redis cluster hangs, the accounts on the others get
// exactly their quota, and none of their requests waits for it; those on it get at most twice
// theirs, and no error.
func TestClusterShardHangs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	shards := redistest.StartCluster(t)
	c.start(3, "--bans", "off", "--limiter", shards.URL()) // these callers do not wait
	c.haveShares()
	for range often(t, 1, 10) {
		c.control().Try("a shard hangs", func() string { return c.shardHangs(shards.Servers[0]) })
	}
	c.mustStop()
}

// shardHangs spends a minute of some accounts, and the next one while a shard hangs. It
// returns what the machine may have spoilt.
func (c *cluster) shardHangs(shard *redistest.Server) (spoilt string) {
	c.t.Helper()
	const limit, clients, each = 60, 8, 80
	c.bursts++
	prefix := fmt.Sprint("hang", c.bursts, " ")
	var on, beside []string
	spend := func(keys []string) (y *tally, slowest time.Duration) {
		y = newTally(c.t)
		burst{nodes: c.nodes, keys: keys, each: each, clients: clients, spread: even}.send(y.ask)
		return y, percentile(y.lap(), 100)
	}
	c.awaitWell(10 * time.Second)
	nextMinute()
	var keys []string
	var numbers []int
	for i, key := range c.newKeys(prefix, 64, "free") {
		if i%5 == 0 { // neighbours are on the same shard
			keys, numbers = append(keys, key), append(numbers, i)
		}
	}
	_, calm := spend(keys) // what follows waits for the machine as this does
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
	shard.Hang()
	well, slowest := spend(beside)
	hung, _ := spend(on)
	shard.Resume()
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
	c.t.Logf("%d of %d accounts were on the shard that hung; the slowest answer to others took %s, %s before", len(on), len(keys), slowest, calm)
	if slowest > calm+countersWait/2 {
		spoilt = fmt.Sprintf("an answer to an account of another shard took %s, and %s before", slowest, calm)
	}
	return spoilt
}
