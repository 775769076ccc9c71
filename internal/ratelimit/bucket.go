package ratelimit

import (
	"sync"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
)

// Values of the parameter keys of [NewBucket].
const (
	MaxAddresses = 65_536  // any client can use many; about 2 MB
	AllAccounts  = 1 << 30 // no limit: only operators create them
)

// Bucket limits events by key in each UTC minute, only on this node: an address's failed credentials, or
// an account's free requests. Use [NewBucket].
type Bucket[K comparable] struct {
	clock clock.Clock
	limit int64
	keys  int // see NewBucket

	mu     sync.Mutex
	minute int64       // index of the minute of counts; guarded by mu
	counts map[K]int64 // the count of the zero K is shared; guarded by mu
}

// NewBucket returns a bucket that allows limit events per minute for each K. After that many keys
// in a minute, all new ones share a count.
func NewBucket[K comparable](c clock.Clock, limit int64, keys int) *Bucket[K] {
	return &Bucket[K]{clock: c, limit: limit, keys: keys, counts: make(map[K]int64)}
}

// BucketDecision is the result of a [Bucket].
type BucketDecision struct {
	Rejected   bool
	Now        int64 // nanoseconds since the Unix epoch
	Minute     WindowState
	RetryAfter int64 // as in [Decision]
}

// Limit returns the limit for each key.
func (b *Bucket[K]) Limit() int64 { return b.limit }

// Peek returns the state of k without counting an event.
func (b *Bucket[K]) Peek(k K) BucketDecision { return b.take(k, 0) }

// Take counts an event of k, or rejects it.
func (b *Bucket[K]) Take(k K) BucketDecision { return b.take(k, 1) }

func (b *Bucket[K]) take(k K, n int64) BucketDecision {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Read().Wall
	if minute := minuteOf(now); minute != b.minute {
		b.minute, b.counts = minute, make(map[K]int64)
	}
	if _, known := b.counts[k]; !known && len(b.counts) >= b.keys {
		var shared K
		k = shared
	}
	d := BucketDecision{Now: now, Rejected: b.counts[k]+n > b.limit}
	if !d.Rejected && n > 0 {
		b.counts[k] += n
	}
	d.Minute = WindowState{b.limit, b.counts[k], petcat.Minute.Reset(b.minute)}
	if d.Rejected {
		d.RetryAfter = retryAfter(now, d.Minute.Reset)
	}
	return d
}
