package ratelimit

import (
	"context"

	"petcat"
)

// LooksPerMinute is how often an account may ask one node in a minute where it stands:
// once a second is more than anybody needs, and it costs the account nothing.
const LooksPerMinute = 60

// LookBucket limits how often each account asks where it stands.
type LookBucket struct{ bucket[petcat.AccountID] }

// NewLookBucket returns a bucket of [LooksPerMinute] for each account.
func NewLookBucket(c *Clock) *LookBucket {
	return &LookBucket{bucket[petcat.AccountID]{clock: c, limit: LooksPerMinute}}
}

// Take counts one look of an account, or refuses it.
func (b *LookBucket) Take(id petcat.AccountID) BucketDecision { return b.take(id) }

// Look implements [Limiter]. It waits as Spend does.
func (m *Memory) Look(ctx context.Context, c Charge) (Decision, error) {
	c.look = true
	return m.Spend(ctx, c)
}
