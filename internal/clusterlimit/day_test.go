package clusterlimit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/counterstest"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

var errAway = errors.New("away")

// breakable is counters that can be away.
type breakable struct {
	*counterstest.Reference
	away atomic.Bool
}

func (b *breakable) Probe(ctx context.Context, p int) (counters.Epoch, int64, error) {
	if b.away.Load() {
		return counters.Epoch{}, 0, errAway
	}
	return b.Reference.Probe(ctx, p)
}

func (b *breakable) Charge(ctx context.Context, p int, e counters.Epoch, charges []counters.Charge) ([]counters.Facts, error) {
	if b.away.Load() {
		return nil, errAway
	}
	return b.Reference.Charge(ctx, p, e, charges)
}

// lease has another node lease for the counters, which have admitted nothing yet.
func (b *breakable) lease(t *testing.T, c ratelimit.Charge) {
	t.Helper()
	const series, granted = 7, 5
	epoch, now, err := b.Reference.Probe(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	charge := counters.Charge{Account: c.Account, PerMinute: c.Quota.PerMinute, PerDay: c.Quota.PerDay, Series: series}
	if _, err := b.Reference.Charge(t.Context(), 0, epoch, []counters.Charge{charge}); err != nil {
		t.Fatal(err)
	}
	grant := counters.Grant{Account: c.Account, Day: dayOf(now), Series: series, Granted: granted, Count: granted}
	if err := b.Grant(t.Context(), 0, epoch, []counters.Grant{grant}); err != nil {
		t.Fatal(err)
	}
}

// TestDayIsKnownFromOwnLeases: a node that has only ever admitted an account by itself,
// and has given back what it leased for that when the counters came back, knows the
// account's day when they and the store are unavailable; also when the counters have told
// that nothing of it is used.
func TestDayIsKnownFromOwnLeases(t *testing.T) {
	t.Parallel()
	for _, leased := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { testDayIsKnown(t, leased) })
	}
}

func testDayIsKnown(t *testing.T, leased bool) {
	t.Helper()
	c := &breakable{Reference: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() })}
	days := limittest.NewDays().Process()
	l := New(t.Context(), Options{Counters: c, Clock: clock.NewSystem(), Days: days})
	time.Sleep(time.Hour)
	charge := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}}
	admit := func(when string) {
		t.Helper()
		if d, err := l.Spend(t.Context(), charge); err != nil || d.Verdict != ratelimit.Admitted {
			t.Errorf("%s: %+v, %v; want it admitted", when, d, err)
		}
	}
	c.away.Store(true)
	time.Sleep(time.Second)
	admit("without counters")
	if leased {
		c.lease(t, charge)
	}
	c.away.Store(false)
	time.Sleep(5 * time.Second)
	c.away.Store(true)
	days.Break(limittest.Faults{Write: errAway, Read: errAway})
	time.Sleep(time.Second)
	admit(fmt.Sprintf("without counters and store, leased %t", leased))
	days.Break(limittest.Faults{})
	_ = l.Close(context.WithoutCancel(t.Context()))
	time.Sleep(time.Minute)
}
