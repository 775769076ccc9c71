package clusterlimit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/counterstest"
	"petcat/internal/ratelimit"
)

// slowly is counters that answer the first charges after the times that it has for them, and
// no later ones.
type slowly struct {
	*counterstest.Reference

	charges []time.Duration
	grants  bool // are answered
}

func (s *slowly) Charge(ctx context.Context, p int, e counters.Epoch, charges []counters.Charge) ([]counters.Facts, error) {
	if len(s.charges) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(s.charges[0])
	s.charges = s.charges[1:]
	return s.Reference.Charge(ctx, p, e, charges)
}

func (s *slowly) Grant(ctx context.Context, p int, e counters.Epoch, grants []counters.Grant) error {
	if !s.grants {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Reference.Grant(ctx, p, e, grants)
}

// TestWaitInAll: a request waits for the counters no longer for several charges than for one,
// but anew after a lease, and beside that at most once as long for a grant. Its node decides it
// then, or as soon as no time is left for another charge.
func TestWaitInAll(t *testing.T) {
	t.Parallel()
	const answer = 20 * time.Millisecond
	for name, tc := range map[string]struct {
		epoch   bool // another one begins first
		charges []time.Duration
		grants  bool
		want    time.Duration
	}{
		"no charge is answered":                        {false, nil, true, timeout},
		"the epoch is over":                            {true, []time.Duration{answer}, true, timeout},
		"the epoch is over, told late":                 {true, []time.Duration{2 * answer}, true, 2 * answer},
		"the epoch is over, told too late":             {true, []time.Duration{timeout - answer/4}, true, timeout - answer/4},
		"a block is needed":                            {false, []time.Duration{answer}, true, answer + timeout},
		"a block is needed, told late":                 {false, []time.Duration{2 * answer}, true, 2*answer + timeout},
		"a block is needed, told very late":            {false, []time.Duration{timeout - answer/4}, true, timeout - answer/4 + timeout},
		"a block is needed, and the epoch is over":     {true, []time.Duration{answer / 4, answer / 2}, true, answer/4 + answer/2 + timeout},
		"a block is needed, the grant is not answered": {false, []time.Duration{answer, 0, 0}, false, answer + timeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &slowly{Reference: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() }), charges: tc.charges, grants: tc.grants}
			l := testNode(t, c, petcat.BansOff)
			time.Sleep(probeEvery / 2) // no probe is the first to find what follows
			if tc.epoch {
				c.Empty(0)
			}
			began := time.Now()
			d, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}})
			if waited := time.Since(began); err != nil || d.Verdict != ratelimit.Admitted || waited != tc.want {
				t.Errorf("%s: %+v, %v after %s, want it admitted after %s", name, d, err, waited, tc.want)
			}
		})
	}
}
