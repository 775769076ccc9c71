package ratelimit

import (
	"testing"

	"petcat"
)

// Ids that follow each other lie in all shards alike, so that a sweep delays nobody.
func TestAccountsSpread(t *testing.T) {
	const each = 10
	m := new(Memory)
	count := make(map[*shard]int)
	for id := range petcat.AccountID(each * shardCount) {
		count[m.shard(id+1)]++
	}
	for i := range m.shards {
		if n := count[&m.shards[i]]; n < each/2 || n > 2*each {
			t.Errorf("shard %d has %d accounts of %d", i, n, each*shardCount)
		}
	}
}
