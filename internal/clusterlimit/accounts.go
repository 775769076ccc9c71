package clusterlimit

import (
	"sync"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// accounts is what this node knows of all accounts.
type accounts struct {
	shards [256]accountShard
}

type accountShard struct {
	mu       sync.Mutex
	accounts map[petcat.AccountID]*account // guarded by mu
	_        [48]byte                      // a cache line each
}

// with calls fn with an account, under its lock.
func (as *accounts) with(id petcat.AccountID, fn func(*account)) {
	// Fibonacci hashing: ids are handed out in sequence.
	s := &as.shards[uint64(id)*0x9e3779b97f4a7c15>>56]
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[id]
	if a == nil {
		if s.accounts == nil {
			s.accounts = make(map[petcat.AccountID]*account)
		}
		a = &account{}
		s.accounts[id] = a
	}
	fn(a)
}

const (
	sweepEvery = time.Minute
	// idleMinutes is how long an account is remembered that sends nothing.
	idleMinutes = 10
	// aheadMinutes is how long before a day ends tomorrow's first blocks are leased,
	// for a part of the accounts each minute, and for those that come later at once.
	aheadMinutes = 14
)

// sweepAll forgets idle accounts, and leases tomorrow's first blocks.
func (l *Limiter) sweepAll() {
	for _, p := range l.partitions {
		l.sweep(p, p.clock.Read().Wall)
	}
}

// sweep forgets a partition's idle accounts. In a day's last minutes it leases the
// first blocks of tomorrow for a part of those that were active today, so that not all
// of them ask at midnight.
func (l *Limiter) sweep(p *partition, now int64) {
	minute, left := minuteOf(now), (dayOf(now)+1)*24*60-minuteOf(now)-1
	var ahead []petcat.SharedLease
	for i := range l.accounts.shards {
		s := &l.accounts.shards[i]
		s.mu.Lock()
		for id, a := range s.accounts {
			switch {
			case counters.PartitionOf(id, len(l.partitions)) != p.number:
			case a.minute < minute-idleMinutes && left >= aheadMinutes:
				delete(s.accounts, id)
			case int64(id)%aheadMinutes >= left && a.series != 0 && a.day == dayOf(now) && !a.ahead:
				a.ahead = true
				ahead = append(ahead, petcat.SharedLease{
					Account: id, Day: a.day + 1, Quota: a.perDay, Series: a.series, Want: ratelimit.LeaseBlock(petcat.Quota{PerDay: a.perDay}),
				})
			}
		}
		s.mu.Unlock()
	}
	l.leaser.tomorrow(p, ahead)
}
