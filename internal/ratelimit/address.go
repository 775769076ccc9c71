package ratelimit

import (
	"net/netip"
	"sync"

	"petcat"
	"petcat/internal/clientnet"
)

// FailuresPerMinute is how many failed credentials an address may send
// in a minute: a busy office behind one address with a wrong key in a script
// stays below it, guessing at keys does not.
const FailuresPerMinute = 600

// maxAddresses bounds the memory of a [FailureBucket], to about 2 MB, whoever
// sends from however many addresses. Past it, new addresses of that minute
// share one bucket.
const maxAddresses = 65_536

// FailureBucket limits how many failed credentials an address may send in each
// UTC minute; see package clientnet for which addresses count as one. It knows
// nothing of valid keys: their requests never come here.
type FailureBucket struct {
	clock *Clock
	limit int64

	mu     sync.Mutex
	minute int64                   // index of the minute that counts holds; guarded by mu
	counts map[clientnet.Net]int64 // guarded by mu
	others int64                   // the shared bucket; guarded by mu
}

// NewFailureBucket returns a bucket of so many failures a minute for each
// address.
func NewFailureBucket(c *Clock, perMinute int64) *FailureBucket {
	return &FailureBucket{clock: c, limit: perMinute}
}

// AddressDecision is what a caller without a valid key is told.
type AddressDecision struct {
	Refused    bool     // too many failed credentials
	Now        int64    // the limiter's time in nanoseconds since the Unix epoch
	Standing   Standing // of the address in its minute
	RetryAfter int64    // as in [Decision]
}

// Peek returns how an address stands, for an answer that does not count.
func (b *FailureBucket) Peek(from netip.Addr) AddressDecision {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.rollOver()
	_, used := b.find(clientnet.Of(from))
	return b.answer(now, used)
}

// Fail counts one failed credential of an address, or refuses it.
func (b *FailureBucket) Fail(from netip.Addr) AddressDecision {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.rollOver()
	a := clientnet.Of(from)
	own, used := b.find(a)
	if used >= b.limit {
		d := b.answer(now, used)
		d.Refused = true
		d.RetryAfter = secondsUntil(now, d.Standing.Reset)
		return d
	}
	used++
	if own {
		if b.counts == nil {
			b.counts = make(map[clientnet.Net]int64)
		}
		b.counts[a] = used
	} else {
		b.others = used
	}
	return b.answer(now, used)
}

// rollOver forgets the minute before. The caller holds b.mu.
func (b *FailureBucket) rollOver() (now int64) {
	now = b.clock.Now()
	if minute := petcat.Minute.Index(unixOf(now)); minute != b.minute {
		b.minute, b.counts, b.others = minute, nil, 0
	}
	return now
}

// find returns an address's count, and whether it has or may have a bucket of
// its own. The caller holds b.mu.
func (b *FailureBucket) find(a clientnet.Net) (own bool, used int64) {
	if n, ok := b.counts[a]; ok {
		return true, n
	}
	if len(b.counts) < maxAddresses {
		return true, 0
	}
	return false, b.others
}

func (b *FailureBucket) answer(now, used int64) AddressDecision {
	return AddressDecision{Now: now, Standing: Standing{
		Limit:     b.limit,
		Remaining: b.limit - used,
		Reset:     petcat.Minute.Reset(petcat.Minute.Index(unixOf(now))),
	}}
}
