package clusterlimit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
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
	after := s.charges[0]
	s.charges = s.charges[1:]
	select {
	case <-time.After(after):
		return s.Reference.Charge(ctx, p, e, charges)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
// then, or as soon as no time is left for another charge; without a share, it waits longer.
func TestWaitInAll(t *testing.T) {
	t.Parallel()
	const answer = 20 * time.Millisecond
	type wait struct {
		epoch, joined bool // another epoch begins first; the node has just joined another one, and has no share
		charges       []time.Duration
		noGrants      bool
		want          time.Duration
	}
	for name, tc := range map[string]wait{
		"no charge is answered":                        {want: timeout},
		"the epoch is over":                            {epoch: true, charges: []time.Duration{answer}, want: timeout},
		"the epoch is over, told late":                 {epoch: true, charges: []time.Duration{2 * answer}, want: 2 * answer},
		"the epoch is over, told too late":             {epoch: true, charges: []time.Duration{timeout - answer/4}, want: timeout - answer/4},
		"a block is needed":                            {charges: []time.Duration{answer}, want: answer + timeout},
		"a block is needed, told late":                 {charges: []time.Duration{2 * answer}, want: 2*answer + timeout},
		"a block is needed, told very late":            {charges: []time.Duration{timeout - answer/4}, want: timeout - answer/4 + timeout},
		"a block is needed, and the epoch is over":     {epoch: true, charges: []time.Duration{answer / 4, answer / 2}, want: answer/4 + answer/2 + timeout},
		"a block is needed, the grant is not answered": {charges: []time.Duration{answer, 0, 0}, noGrants: true, want: answer + timeout},
		"there is no share":                            {joined: true, want: 4 * timeout},
		"there is no share, and the answer is late":    {joined: true, charges: []time.Duration{2 * timeout, answer}, want: 2*timeout + answer},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &slowly{Reference: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() }), charges: tc.charges, grants: !tc.noGrants}
			o := Options{Counters: c, Clock: clock.NewSystem(), Bans: petcat.BansOff}
			if tc.joined {
				o.Membership = func() *Membership {
					return &Membership{ReadAt: o.Clock.Read().Mono, Self: "b", Members: []counters.Member{{ID: "a", Joined: time.Hour}, {ID: "b", Joined: time.Second}}}
				}
			}
			l := testNodeWith(t, o)
			time.Sleep(probeEvery / 2) // no probe is the first to find what follows
			if tc.epoch {
				c.Empty(0)
			}
			began := time.Now()
			d, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}})
			refused := tc.joined && tc.charges == nil
			if waited := time.Since(began); err != nil || (d.Verdict == ratelimit.Admitted) == refused || refused && !d.ByShare || waited != tc.want {
				t.Errorf("%s: %+v, %v after %s, want an answer after %s; refused by the share: %t", name, d, err, waited, tc.want, refused)
			}
		})
	}
}
