package ratelimit

import (
	"net/netip"

	"petcat/internal/clientnet"
)

// FailuresPerMinute is how many failed credentials an address may send
// in a minute: a busy office behind one address with a wrong key in a script
// stays below it, guessing at keys does not.
const FailuresPerMinute = 600

// FailureBucket limits how many failed credentials an address may send in each
// UTC minute; see package clientnet for which addresses count as one. It knows
// nothing of valid keys: their requests never come here. Past 65,536 addresses in a
// minute, new ones share one count.
type FailureBucket struct{ bucket[clientnet.Net] }

// NewFailureBucket returns a bucket of so many failures a minute for each
// address.
func NewFailureBucket(c *Clock, perMinute int64) *FailureBucket {
	return &FailureBucket{bucket[clientnet.Net]{clock: c, limit: perMinute}}
}

// Peek returns how an address stands, for an answer that does not count.
func (b *FailureBucket) Peek(from netip.Addr) BucketDecision { return b.peek(clientnet.Of(from)) }

// Fail counts one failed credential of an address, or refuses it.
func (b *FailureBucket) Fail(from netip.Addr) BucketDecision { return b.take(clientnet.Of(from)) }
