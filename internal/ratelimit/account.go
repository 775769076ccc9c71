package ratelimit

import (
	"sync"

	"petcat"
)

// account is what is counted of one account. There may be a million of them:
// 64 bytes each, beside the table's entry. Guarded by its shard's mu.
type account struct {
	minute     int64 // index of the minute that minuteUsed counts
	minuteUsed int64

	// What is used of the day is dayCount - dayFree + dayOwed.
	dayCount int64  // the store's count when it last told, all leases included
	dayFree  int64  // leased by us and not spent
	dayOwed  int64  // admitted while the store was unavailable, not leased yet
	lease    *lease // the one lease that is asked for, or nil
	day      int32  // index of the day that the above counts; lasts 5 million years
	known    bool   // dayCount was told by the store
	stale    bool   // requests of the day were given back since then
}

func (a *account) dayUsed() int64 { return a.dayCount - a.dayFree + a.dayOwed }

// rollOver makes the account count in the windows that hold now. It returns what
// was leased and not used of a day that is over.
func (a *account) rollOver(now int64) (day, unused int64) {
	unix := unixOf(now)
	if minute := petcat.Minute.Index(unix); a.minute != minute {
		a.minute, a.minuteUsed = minute, 0
	}
	if today := int32(petcat.Day.Index(unix)); a.day != today {
		day, unused = int64(a.day), a.dayFree
		a.day, a.known, a.stale, a.lease = today, false, false, nil
		a.dayCount, a.dayFree, a.dayOwed = 0, 0, 0
	}
	return day, unused
}

// unused appends what is leased and not used to returns, if anything is.
func (a *account) unused(id petcat.AccountID, returns []petcat.DayReturn) []petcat.DayReturn {
	if a.dayFree == 0 {
		return returns
	}
	return append(returns, petcat.DayReturn{Account: id, Day: int64(a.day), Unused: a.dayFree})
}

// usage returns what the account has used, for the pure functions.
func (a *account) usage(now int64, c Charge) Usage {
	u := Usage{Now: now, Quota: c.Quota, MinuteUsed: a.minuteUsed, DayUsed: a.dayUsed()}
	if c.DayOnly {
		u.MinuteUsed = 0
	}
	return u
}

// granted adds a lease. What is owed is paid from it first, so that what was
// used stays used.
func (a *account) granted(l petcat.DayLeased) {
	a.known, a.stale = true, false
	a.dayCount = l.Count
	a.dayFree += l.Granted
	pay := min(a.dayOwed, a.dayFree)
	a.dayFree -= pay
	a.dayOwed -= pay
}

// LeaseBlock returns how many requests are leased at a time. With a lease under
// way when half a block is left, at most 1.5 blocks are leased and unspent, so
// that a crash costs an account less than a hundredth of its day.
func LeaseBlock(q petcat.Quota) int64 { return max(1, q.PerDay/200) }

// wantsLease reports whether it is time to lease ahead. While something is owed,
// nothing is free.
func (a *account) wantsLease(q petcat.Quota) bool {
	return a.lease == nil && a.dayCount < q.PerDay && a.dayFree <= LeaseBlock(q)/2
}

// shardCount spreads the accounts so that a sweep, which holds one shard at a
// time, delays nobody: with a million accounts it looks at a thousand at once.
const shardCount = 1024

// shard is a part of the accounts, with the keys that belong to them.
type shard struct {
	mu        sync.Mutex
	accounts  map[petcat.AccountID]*account // guarded by mu
	histories map[petcat.KeyID]*history     // guarded by mu
	peak      int                           // most accounts since the table was made; guarded by mu
	closed    bool                          // guarded by mu

	_ [24]byte // a cache line each
}

// account returns an account's counts, which are new and unknown at first.
func (s *shard) account(id petcat.AccountID) *account {
	a := s.accounts[id]
	if a == nil {
		if s.accounts == nil {
			s.accounts = make(map[petcat.AccountID]*account)
		}
		a = &account{}
		s.accounts[id] = a
		s.peak = max(s.peak, len(s.accounts))
	}
	return a
}

// history returns what is remembered of an account's key, and begins to remember it.
func (s *shard) history(account petcat.AccountID, id petcat.KeyID) *history {
	o := s.histories[id]
	if o == nil {
		if s.histories == nil {
			s.histories = make(map[petcat.KeyID]*history)
		}
		o = &history{account: account}
		s.histories[id] = o
	}
	return o
}
