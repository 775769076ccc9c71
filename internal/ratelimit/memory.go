package ratelimit

import (
	"maps"
	"sync"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
)

// memory holds the usage of the accounts that this node served recently. On a single node it is
// the truth. With counters, it is the last response for each account, plus the requests that the node has
// allowed since then while they were silent.
type memory struct {
	clock    *sharedClock
	counters bool  // the node has counters
	began    int64 // the day of the start
	shards   [256]shard
}

// shard holds a part of the accounts.
type shard struct {
	mu       sync.Mutex
	accounts map[petcat.AccountID]*account // guarded by mu
	_        [48]byte                      // one cache line for each
}

// account is an account's usage, as far as this node knows it.
type account struct {
	minute     int64 // index
	minuteUsed int64
	dayUsed    int64
	dayKnown   bool // without counters: dayUsed was read from the usage history

	// The last response of the counters: its time by their clock, 0 before the first response, and the
	// times by this node's clock when the call was sent and returned.
	at             int64
	sent, received clock.Reading
}

const minutesPerDay = 24 * 60

func newMemory(o Options, c *sharedClock) *memory {
	m := &memory{clock: c, counters: o.Counters != nil, began: dayOf(o.Clock.Read().Wall)}
	for i := range m.shards {
		m.shards[i].accounts = make(map[petcat.AccountID]*account)
	}
	return m
}

// shard returns the shard of an account.
func (m *memory) shard(id petcat.AccountID) *shard {
	return &m.shards[uint64(id)*0x9e3779b97f4a7c15>>56] // Fibonacci hashing, because ids are consecutive
}

// account returns an account, and creates it if necessary. The caller must hold mu.
func (s *shard) account(id petcat.AccountID) *account {
	a := s.accounts[id]
	if a == nil {
		a = &account{}
		s.accounts[id] = a
	}
	return a
}

// charge charges a request to both windows or to neither, by this node's counts. If known is false, it
// does not charge the request: the day's usage must be learned first.
func (m *memory) charge(q petcat.QuotaCharge) (c petcat.QuotaCount, known bool) {
	s := m.shard(q.Account)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(q.Account)
	now := m.enter(a)
	known = a.dayKnown || m.counters
	allowed := known && !q.Peek && a.minuteUsed < q.Quota.PerMinute && a.dayUsed < q.Quota.PerDay
	if allowed {
		a.minuteUsed++
		a.dayUsed++
	}
	return petcat.QuotaCount{Now: now, Allowed: allowed, MinuteUsed: a.minuteUsed, DayUsed: a.dayUsed}, known
}

// learnDay stores a day's usage from the usage history, unless the day is over.
func (m *memory) learnDay(id petcat.AccountID, day, used int64) {
	s := m.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(id)
	if dayOf(m.enter(a)) == day {
		a.dayUsed, a.dayKnown = max(a.dayUsed, used), true
	}
}

// enter brings an account to the current windows, and returns the time. Reading the clock under the
// lock keeps times of an account in order, unless the clock is set back. If it was set back by up to a
// minute, the account stays in the counters' minute.
func (m *memory) enter(a *account) (now int64) {
	now = m.clock.latest()
	minute := minuteOf(now)
	if m.counters && a.minute == minute+1 {
		return a.minute * int64(time.Minute)
	}
	m.rollOver(a, minute)
	return now
}

// rollOver starts an account's new minute, and a new day if the day changed. On a day that began after
// this node's start, the usage begins at zero.
func (m *memory) rollOver(a *account, minute int64) {
	if a.minute == minute {
		return
	}
	if day := minute / minutesPerDay; a.minute/minutesPerDay != day {
		a.dayUsed, a.dayKnown = 0, day > m.began
	}
	a.minute, a.minuteUsed = minute, 0
}

// learn stores a response of the counters. It keeps the larger counts, because the node may have
// allowed requests from memory. Only the responses to two overlapping calls may arrive out of order; the
// older one by the counters' clock is ignored. Otherwise an older time means that this clock was set
// back.
func (m *memory) learn(id petcat.AccountID, c petcat.QuotaCount, sent, received clock.Reading) {
	s := m.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(id)
	if c.Now < a.at && sent.Mono < a.received.Mono {
		return
	}
	m.rollOver(a, minuteOf(c.Now))
	a.minuteUsed, a.dayUsed = max(a.minuteUsed, c.MinuteUsed), max(a.dayUsed, c.DayUsed)
	a.at, a.sent, a.received = c.Now, sent, received
}

// spent reports whether a request's quota is known to be used up in the counters' current
// window. The window is over if either the monotonic clock or the wall clock says so: the
// monotonic clock stops while the machine is suspended, and the wall clock can be set.
func (m *memory) spent(q petcat.QuotaCharge) (c petcat.QuotaCount, spent bool) {
	now := m.clock.own.Read()
	s := m.shard(q.Account)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(q.Account)
	window := petcat.Minute
	switch {
	case a.at == 0 || a.minute != minuteOf(a.at):
		return c, false
	case a.dayUsed >= q.Quota.PerDay:
		window = petcat.Day
	case a.minuteUsed < q.Quota.PerMinute:
		return c, false
	}
	left := window.Reset(window.Index(a.at/int64(time.Second)))*int64(time.Second) - a.at
	if now.Mono >= a.sent.Mono+left || now.Wall >= a.sent.Wall+left {
		return c, false
	}
	// Relative to the arrival of the response, so that Retry-After is never early.
	at := min(a.at+max(0, now.Mono-a.received.Mono), a.at+left-1)
	c = petcat.QuotaCount{Now: at, DayUsed: a.dayUsed}
	if minuteOf(at) == a.minute {
		c.MinuteUsed = a.minuteUsed
	}
	return c, true
}

// sweep removes the accounts of past days.
func (m *memory) sweep(now int64) {
	// The counters' clock may be behind this one.
	today := dayOf(now - int64(time.Hour))
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		maps.DeleteFunc(s.accounts, func(_ petcat.AccountID, a *account) bool { return a.minute/minutesPerDay < today })
		s.mu.Unlock()
	}
}
