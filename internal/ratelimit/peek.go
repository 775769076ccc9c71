package ratelimit

import (
	"context"

	"petcat"
)

// PeeksPerMinute is how often an account may ask one node in a minute where it stands:
// once a second is more than anybody needs, and it costs the account nothing.
const PeeksPerMinute = 60

// PeekBucket limits how often each account asks where it stands.
type PeekBucket struct{ bucket[petcat.AccountID] }

// NewPeekBucket returns a bucket of [PeeksPerMinute] for each account.
func NewPeekBucket(c *Clock) *PeekBucket {
	return &PeekBucket{bucket[petcat.AccountID]{clock: c, limit: PeeksPerMinute}}
}

// Take counts one peek of an account, or refuses it.
func (b *PeekBucket) Take(id petcat.AccountID) BucketDecision { return b.take(id) }

// Peek implements [Limiter]. It waits as Spend does.
func (m *Memory) Peek(ctx context.Context, c Charge) (Decision, error) {
	c.peek = true
	return m.Spend(ctx, c)
}
