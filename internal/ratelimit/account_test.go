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

// A table that three quarters of its accounts have left is made anew, unless it is small.
func TestShrink(t *testing.T) {
	for _, tc := range []struct {
		peak, left int
		anew       bool
	}{
		{63, 0, false},
		{64, 17, false},
		{64, 16, true},
		{1_000, 251, false},
		{1_000, 250, true},
	} {
		s := shard{peak: tc.peak, accounts: make(map[petcat.AccountID]*account)}
		for id := range petcat.AccountID(tc.left) {
			s.accounts[id] = &account{}
		}
		s.shrink()
		if anew := s.peak == tc.left; anew != tc.anew || len(s.accounts) != tc.left {
			t.Errorf("%d of %d are left: made anew %t with %d accounts, want %t", tc.left, tc.peak, anew, len(s.accounts), tc.anew)
		}
	}
}
