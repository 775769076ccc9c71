package clusterlimit

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/counterstest"
	"petcat/internal/ratelimit"
)

// TestShareBansNobody: without counters, a client that stays below its plan and sends to one
// of three nodes is refused what the node's share does not hold. However many of these
// refusals it does not wait after, it is not banned for them.
func TestShareBansNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		quota := petcat.Quota{PerMinute: 60, PerDay: 1_000}
		c := &breakable{Reference: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() })}
		var bans atomic.Int64
		system := clock.NewSystem()
		l := testNodeWith(t, Options{
			Counters: c, Clock: system, Bans: petcat.EnforceBans, Banned: func(petcat.Ban) { bans.Add(1) },
			Membership: threeNodes(system, 0),
		})
		c.away.Store(true)
		time.Sleep(time.Second) // the node knows, and the minute is young
		var admitted, early int64
		var first time.Time // refusal
		for range quota.PerMinute - 1 {
			d, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: quota})
			switch {
			case err == nil && d.Verdict == ratelimit.Admitted:
				admitted++
			case err != nil || d.Verdict != ratelimit.MinuteSpent || !d.ByShare:
				t.Fatalf("after %d were admitted: %+v, %v; want it refused by the share", admitted, d, err)
			case first.IsZero():
				first = time.Now()
			case time.Since(first) > petcat.EarlyRetryGrace:
				early++
			}
			time.Sleep(time.Second)
		}
		if bans.Load() > 0 {
			t.Errorf("%d bans", bans.Load())
		}
		if admitted != quota.PerMinute/3 || early <= petcat.BanThreshold(quota) {
			t.Errorf("%d were admitted, want %d; %d were refused later than the grace, want more than %d: this shows nothing",
				admitted, quota.PerMinute/3, early, petcat.BanThreshold(quota))
		}
	})
}

// TestRetriesAreSummed: a key whose early retries are spread over two nodes is banned for their
// sum, as soon as they have told each other.
func TestRetriesAreSummed(t *testing.T) {
	t.Parallel()
	for each, want := range map[int]ratelimit.Verdict{15: ratelimit.MinuteSpent, 20: ratelimit.Banned} {
		synctest.Test(t, func(t *testing.T) {
			c := counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() })
			first := testNode(t, c, petcat.EnforceBans)
			time.Sleep(retriesEvery / 2) // they do not tell each other in the same instant
			nodes := []*Limiter{first, testNode(t, c, petcat.EnforceBans)}
			send := func(node, n int, want ratelimit.Verdict) {
				t.Helper()
				for range n {
					d, err := nodes[node].Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 5, PerDay: 10_000}})
					if err != nil || d.Verdict != want {
						t.Errorf("%d early retries on each node: %+v, %v; want %d", each, d, err, want)
					}
				}
			}
			send(0, 5, ratelimit.Admitted)
			for node := range nodes {
				send(node, 1, ratelimit.MinuteSpent) // the grace begins
			}
			time.Sleep(petcat.EarlyRetryGrace + 5*retriesEvery/4)
			send(1, each, ratelimit.MinuteSpent)
			send(0, each-1, ratelimit.MinuteSpent)
			time.Sleep(retriesEvery)
			send(0, 1, want)
			send(0, 1, ratelimit.Banned) // 31 of them are too many
		})
	}
}

// untold is counters that at times do not tell of early retries.
type untold struct {
	*counterstest.Reference

	silent atomic.Bool
}

func (c *untold) ShareRetries(ctx context.Context, p int, node string, keys []counters.KeyRetries) ([]int64, error) {
	if c.silent.Load() {
		return nil, errAway
	}
	return c.Reference.ShareRetries(ctx, p, node, keys)
}

// TestRetriesElsewhereAreForgotten: what the counters told of early retries on other nodes
// holds for a while when they tell nothing any more, and not for longer.
func TestRetriesElsewhereAreForgotten(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]ratelimit.Verdict{
		counters.RetriesHold*time.Second - retriesEvery: ratelimit.Banned,
		counters.RetriesHold*time.Second + retriesEvery: ratelimit.MinuteSpent,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &untold{Reference: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() })}
			first := testNode(t, c, petcat.EnforceBans)
			time.Sleep(retriesEvery / 2) // they do not tell each other in the same instant
			nodes := []*Limiter{first, testNode(t, c, petcat.EnforceBans)}
			send := func(node, n int) (last ratelimit.Verdict) {
				t.Helper()
				for range n {
					d, err := nodes[node].Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 5, PerDay: 10_000}})
					if err != nil {
						t.Fatal(err)
					}
					last = d.Verdict
				}
				return last
			}
			send(0, 6)
			send(1, 1) // the grace begins
			time.Sleep(petcat.EarlyRetryGrace + 5*retriesEvery/4)
			send(1, 20)
			send(0, 1)
			time.Sleep(2 * retriesEvery) // both have told
			c.silent.Store(true)
			time.Sleep(after)
			if got := send(0, 15); got != want {
				t.Errorf("%s after the counters told of 20 early retries elsewhere, 16 here: %d, want %d", after, got, want)
			}
		})
	}
}
