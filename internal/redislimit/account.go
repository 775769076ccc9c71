package redislimit

import (
	"sync"

	"petcat"
	"petcat/internal/ratelimit"
)

// view is what this node knows of an account's minute and day. There may be a
// million of them: 96 bytes each. Guarded by its shard's mu.
type view struct {
	minute int64 // the minute's index
	told   int64 // its use when the server last told
	own    int64 // what this node admitted of it by the server
	alone  int64 // what it admitted alone
	merged int64 // of alone: part of what the server told

	flying int32 // charges that were sent and not answered
	beside int32 // how many of them there were when the server last told

	day     int64 // the day's index
	dayUsed int64 // its use when the server last told

	// What this node may admit alone in all, since a phase of the breaker.
	phase   uint32
	dirty   bool // it is in the list of those that owe
	decided bool // the server decided a request since that was settled
	most    int64
	basis   int64 // what was told, and one: 0 is nothing yet
	quota   int64 // of which most is a share
}

// owed is what this node admitted alone and the server does not count yet.
func (v *view) owed() int64 { return v.alone - v.merged }

// turn makes the view one of the minute with this index.
func (v *view) turn(minute int64) {
	if v.minute != minute {
		*v = view{minute: minute, dirty: v.dirty, flying: v.flying, day: v.day, dayUsed: v.dayUsed}
	}
}

// situation is in what a node decides alone.
type situation struct {
	phase  uint32  // of the breaker; 0: the server only failed to decide once
	minute int64   // the minute's index
	nodes  int64   // among which the quota is shared
	begun  float64 // how much of the minute passed while all counted together, from 0 to 1
}

// mayAlone returns how much of the minute this node may admit alone in all. It
// is settled once in each phase: what others add to the server's count later
// is their share, and what this node adds is no longer left. A server that comes
// and goes without a word about the account changes nothing.
func (v *view) mayAlone(s situation, perMinute int64) int64 {
	// Where the server only failed to decide once, its next decision settles anew.
	// One that was emptied and cannot be told the day answers and decides nothing:
	// in the counts that it tells is missing what other nodes are about to add.
	anew := v.phase != s.phase || v.basis == 0 || s.phase == 0 && v.decided
	if anew && v.basis != v.told+1 {
		v.basis, v.quota = v.told+1, perMinute
		v.most = v.alone + v.share(s, perMinute)
	}
	v.phase, v.decided = s.phase, false
	if v.quota != perMinute { // the plan changed
		v.most += (perMinute - v.quota) / s.nodes
		v.quota = perMinute
	}
	return v.most
}

// share returns how much of what is left of the minute is this node's.
func (v *view) share(s situation, perMinute int64) int64 {
	switch {
	case v.told > 0:
		// What the server said was left, divided among the nodes; a node that had
		// less than its share of the traffic gets less, because it also knows less
		// of what the others admitted since it was told.
		left := max(0, perMinute-v.told-v.owed())
		known := min(v.own+v.alone, v.told)
		most := min(left/s.nodes, int64(float64(left)*float64(known)/float64(v.told)))
		// Others had as much under way then, and may have been answered since.
		return max(0, most-int64(v.beside))
	default:
		// Nothing is known of this minute: as if others had used it evenly.
		most := int64(float64(perMinute/s.nodes) * (1 - s.begun))
		return max(1, most-int64(v.flying))
	}
}

// views is what is known of all accounts.
type views struct {
	shards [256]viewShard

	mu    sync.Mutex
	dirty []petcat.AccountID // owe something; guarded by mu
}

type viewShard struct {
	mu       sync.Mutex
	accounts map[petcat.AccountID]*view // guarded by mu
	_        [48]byte                   // a cache line each
}

func (vs *views) shard(id petcat.AccountID) *viewShard {
	// Fibonacci hashing: ids are handed out in sequence.
	return &vs.shards[uint64(id)*0x9e3779b97f4a7c15>>56]
}

// look calls fn with an account's view, under its lock.
func (vs *views) look(id petcat.AccountID, fn func(*view)) {
	s := vs.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.accounts[id]
	if v == nil {
		if s.accounts == nil {
			s.accounts = make(map[petcat.AccountID]*view)
		}
		v = &view{}
		s.accounts[id] = v
	}
	fn(v)
}

// sent takes note that a charge is sent, and returns what the server last told of
// the account's minute. Then follows answered or lost.
func (vs *views) sent(id petcat.AccountID) (minute, told int64) {
	vs.look(id, func(v *view) {
		v.flying++
		minute, told = v.minute, v.told
	})
	return minute, told
}

// lost takes note that a charge was not answered.
func (vs *views) lost(id petcat.AccountID) {
	vs.look(id, func(v *view) { v.flying-- })
}

// answered takes note of an answer of the server.
func (vs *views) answered(id petcat.AccountID, f facts) {
	minute, day := minuteOf(f.now), dayOf(f.now)
	vs.look(id, func(v *view) {
		v.flying--
		if minute < v.minute {
			return // an answer that was overtaken
		}
		v.turn(minute)
		v.told, v.beside = max(v.told, f.minuteUsed), v.flying
		if f.code == codeAdmitted {
			v.own++
		}
		v.decided = v.decided || f.code.decided()
		if f.code != codeUnknown && day >= v.day {
			v.day, v.dayUsed = day, f.dayUsed
		}
	})
}

// today returns what the server last told of an account's day.
func (vs *views) today(id petcat.AccountID, day int64) (used int64, known bool) {
	s := vs.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.accounts[id]; v != nil && v.day == day {
		return v.dayUsed, true
	}
	return 0, false
}

// admittedAlone takes note of a request that this node admitted by itself.
func (vs *views) admittedAlone(id petcat.AccountID, minute int64) {
	listed := true
	vs.look(id, func(v *view) {
		v.turn(minute)
		v.alone++
		listed, v.dirty = v.dirty, true
	})
	if !listed {
		vs.mu.Lock()
		defer vs.mu.Unlock()
		vs.dirty = append(vs.dirty, id)
	}
}

// takeDirty returns and forgets which accounts owe.
func (vs *views) takeDirty() []petcat.AccountID {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	ids := vs.dirty
	vs.dirty = nil
	return ids
}

// keepDirty puts accounts back that were taken and not looked at.
func (vs *views) keepDirty(ids []petcat.AccountID) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.dirty = append(vs.dirty, ids...)
}

// putDirty makes accounts owe again whose debt was not settled.
func (vs *views) putDirty(ids []petcat.AccountID) {
	for _, id := range ids {
		listed := true
		vs.look(id, func(v *view) { listed, v.dirty = v.dirty, true })
		if !listed {
			vs.mu.Lock()
			vs.dirty = append(vs.dirty, id)
			vs.mu.Unlock()
		}
	}
}

// part returns how much of a minute's quota this node may admit alone.
func (vs *views) part(c ratelimit.Charge, s situation) ratelimit.Part {
	var most int64
	vs.look(c.Account, func(v *view) {
		v.turn(s.minute)
		most = v.mayAlone(s, c.Quota.PerMinute)
	})
	return ratelimit.PartOf(most)
}

// reserve takes one of what this node may admit alone, for a request that the server
// is to admit. It reports whether there was one.
func (vs *views) reserve(c ratelimit.Charge, s situation) (reserved bool) {
	vs.look(c.Account, func(v *view) {
		v.turn(s.minute)
		if reserved = v.mayAlone(s, c.Quota.PerMinute) > v.alone; reserved {
			v.most--
		}
	})
	return reserved
}

// release gives back what was reserved in a situation, if it is that still.
func (vs *views) release(id petcat.AccountID, s situation) {
	vs.look(id, func(v *view) {
		if v.minute == s.minute && v.phase == s.phase {
			v.most++
		}
	})
}

// debt is what a node admitted alone and is to tell the server.
type debt struct {
	account                     petcat.AccountID
	minute, told, alone, merged int64 // as in view
}

// debt returns what an account that was dirty owes.
func (vs *views) debt(id petcat.AccountID) (d debt, owes bool) {
	vs.look(id, func(v *view) {
		v.dirty = false
		d = debt{account: id, minute: v.minute, told: v.told, alone: v.alone, merged: v.merged}
	})
	return d, d.alone > d.merged
}

// settle takes note that the server counts what was owed, and of what the minute's
// use is now: negative when the minute was over.
func (vs *views) settle(d debt, used int64) {
	vs.look(d.account, func(v *view) {
		if v.minute == d.minute {
			v.merged = max(v.merged, d.alone)
			v.told = max(v.told, used)
		}
	})
}

// owing reports whether there is something to be told.
func (vs *views) owing() bool {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return len(vs.dirty) > 0
}

// idleMinutes is how long an account is remembered that sends nothing. Its day
// is asked for when neither the server nor the day store can tell it.
const idleMinutes = 10

// sweep drops accounts that have sent nothing for a while.
func (vs *views) sweep(minute int64) {
	for i := range vs.shards {
		s := &vs.shards[i]
		s.mu.Lock()
		for id, v := range s.accounts {
			if v.minute < minute-idleMinutes && !v.dirty {
				delete(s.accounts, id)
			}
		}
		s.mu.Unlock()
	}
}
