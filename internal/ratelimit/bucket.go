package ratelimit

import (
	"sync"

	"petcat"
)

// maxBuckets bounds the memory of a bucket, to about 2 MB, whoever sends however much.
// Past it, newcomers of that minute share one count.
const maxBuckets = 65_536

// bucket limits what each of many may do in each UTC minute, on this node alone.
type bucket[K comparable] struct {
	clock *Clock
	limit int64

	mu     sync.Mutex
	minute int64       // index of the minute that counts holds; guarded by mu
	counts map[K]int64 // guarded by mu
	others int64       // the shared count; guarded by mu
}

// BucketDecision is what a bucket tells.
type BucketDecision struct {
	Refused    bool
	Now        int64 // the limiter's time in nanoseconds since the Unix epoch
	Minute     WindowState
	RetryAfter int64 // as in [Decision]
}

// Limit returns how much each may do in a minute.
func (b *bucket[K]) Limit() int64 { return b.limit }

// peek returns what is left to k, and counts nothing.
func (b *bucket[K]) peek(k K) BucketDecision {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.rollOver()
	_, used := b.find(k)
	return b.answer(now, used)
}

// take counts one of k, or refuses it.
func (b *bucket[K]) take(k K) BucketDecision {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.rollOver()
	own, used := b.find(k)
	if used >= b.limit {
		d := b.answer(now, used)
		d.Refused = true
		d.RetryAfter = secondsUntil(now, d.Minute.Reset)
		return d
	}
	used++
	if own {
		if b.counts == nil {
			b.counts = make(map[K]int64)
		}
		b.counts[k] = used
	} else {
		b.others = used
	}
	return b.answer(now, used)
}

// rollOver forgets the minute before. The caller holds b.mu.
func (b *bucket[K]) rollOver() (now int64) {
	now = b.clock.Now()
	if minute := petcat.Minute.Index(unixOf(now)); minute != b.minute {
		b.minute, b.counts, b.others = minute, nil, 0
	}
	return now
}

// find returns the count of k, and whether it has or may have one of its own. The
// caller holds b.mu.
func (b *bucket[K]) find(k K) (own bool, used int64) {
	if n, ok := b.counts[k]; ok {
		return true, n
	}
	if len(b.counts) < maxBuckets {
		return true, 0
	}
	return false, b.others
}

func (b *bucket[K]) answer(now, used int64) BucketDecision {
	return BucketDecision{Now: now, Minute: WindowState{
		Limit:     b.limit,
		Remaining: b.limit - used,
		Reset:     petcat.Minute.Reset(petcat.Minute.Index(unixOf(now))),
	}}
}
