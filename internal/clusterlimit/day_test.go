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

// dayRig is some nodes on counters and a store of days that can both fail, and an account
// with a day of 100 unless the test has it have another quota.
type dayRig struct {
	*testing.T

	quota    petcat.Quota
	counters *breakable
	stores   []*limittest.Process
	nodes    []*Limiter
	admitted int64
}

func newDayRig(t *testing.T, nodes int) *dayRig {
	t.Helper()
	r := &dayRig{T: t, quota: petcat.Quota{PerMinute: 60, PerDay: 100}, counters: &breakable{Reference: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() })}}
	days := limittest.NewDays()
	for range nodes {
		r.stores = append(r.stores, days.Process())
	}
	for _, store := range r.stores {
		r.nodes = append(r.nodes, New(t.Context(), Options{Counters: r.counters, Clock: clock.NewSystem(), Days: store}))
	}
	time.Sleep(time.Hour)
	return r
}

func (r *dayRig) breakStores(f limittest.Faults) {
	for _, store := range r.stores {
		store.Break(f)
	}
}

// send sends so many requests to a node.
func (r *dayRig) send(node, n int) {
	for range n {
		d, err := r.nodes[node].Spend(r.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: r.quota})
		if err != nil {
			r.Errorf("node %d: %v", node, err)
		} else if d.Verdict == ratelimit.Admitted {
			r.admitted++
		}
	}
}

// end has a node admit what is left of the day, and expects the day's quota, or what is lost of it
// with an epoch.
func (r *dayRig) end(node int) {
	for range 3 {
		time.Sleep(time.Minute)
		r.send(node, 60)
	}
	if r.admitted > 100 || r.admitted < 98 {
		r.Errorf("%d are admitted of a day of 100", r.admitted)
	}
	r.close()
}

func (r *dayRig) close() {
	r.breakStores(limittest.Faults{})
	for _, l := range r.nodes {
		_ = l.Close(context.WithoutCancel(r.Context()))
	}
	time.Sleep(time.Minute)
}

// TestDayOfLocalLeasesIsTold: a node has leased for itself while the counters were
// unavailable, and the store is unavailable when they are back: they go on from what the
// node knows of the day.
func TestDayOfLocalLeasesIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newDayRig(t, 2)
		r.send(1, 1)
		r.send(0, 1)
		r.counters.away.Store(true)
		time.Sleep(time.Second)
		r.send(0, 40)
		r.breakStores(limittest.Faults{Write: errAway, Read: errAway})
		r.counters.away.Store(false)
		time.Sleep(3 * time.Second)
		r.end(1)
	})
}

// TestLateCallKeepsNoLease: nodes that decide a single request, because a call was late,
// lease a block of the day for it. They give back what is left of it, and the day is used
// up to its last request.
func TestLateCallKeepsNoLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newDayRig(t, 3)
		r.quota = petcat.Quota{PerMinute: 10_000, PerDay: 2_000}
		r.send(0, 1)
		for node := range r.nodes {
			r.counters.away.Store(true)
			r.send(node, 1)
			r.counters.away.Store(false)
		}
		time.Sleep(2 * time.Second)
		r.send(0, 2_000)
		if r.admitted != 2_000 {
			r.Errorf("%d are admitted of a day of 2,000, with a late call on each of three nodes", r.admitted)
		}
		r.close()
	})
}

// TestOwedIsLeasedAfterEmptying: the counters admit while the store is unavailable, and
// are emptied before it is back. The node that knows what is owed leases it, whether it
// has heard of the new epoch or not.
func TestOwedIsLeasedAfterEmptying(t *testing.T) {
	t.Parallel()
	for _, heard := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newDayRig(t, 2)
			r.send(1, 1)
			r.send(0, 1)
			r.breakStores(limittest.Faults{Write: errAway})
			r.send(0, 50)
			r.counters.Empty(0)
			if heard {
				time.Sleep(time.Minute)
				r.send(0, 5)
			}
			time.Sleep(time.Minute)
			r.breakStores(limittest.Faults{})
			time.Sleep(2 * time.Second)
			r.end(1)
		})
	}
}

// TestStoreHangsWithoutCounters: while the counters are away and the store hangs, the first request
// waits for the day's count as long as for a lease, and goes on from what the counters told. The
// next ones do not wait, of whichever account; none waits longer in a minute of that.
func TestStoreHangsWithoutCounters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const accounts = 60
		r := newDayRig(t, 1)
		send := func(account int) (waited time.Duration) {
			began := time.Now()
			d, err := r.nodes[0].Spend(t.Context(), ratelimit.Charge{Account: petcat.AccountID(account), Key: 1, Quota: r.quota})
			if err != nil || d.Verdict != ratelimit.Admitted {
				t.Errorf("account %d: %+v, %v; want it admitted", account, d, err)
			}
			return time.Since(began)
		}
		for account := range accounts {
			send(account)
		}
		r.breakStores(limittest.Faults{Hang: true})
		r.counters.away.Store(true)
		time.Sleep(time.Second)
		for _, c := range []struct {
			account int
			want    time.Duration
		}{{0, ratelimit.LeaseTimeout}, {0, 0}, {1, 0}, {1, 0}} {
			if waited := send(c.account); waited != c.want {
				t.Errorf("account %d waited for %s, want %s", c.account, waited, c.want)
			}
		}
		for account := 2; account < accounts; account++ {
			if waited := send(account); waited > ratelimit.LeaseTimeout {
				t.Errorf("account %d waited for %s, want at most %s", account, waited, ratelimit.LeaseTimeout)
			}
			if waited := send(account); waited != 0 {
				t.Errorf("account %d waited once more, for %s", account, waited)
			}
			time.Sleep(time.Second)
		}
		r.close()
	})
}

// emptying is counters that are emptied at one more call, if they are to be: right before a
// grant, or right after it.
type emptying struct {
	*counterstest.Reference
	before, after bool
}

func (e *emptying) Grant(ctx context.Context, p int, epoch counters.Epoch, grants []counters.Grant) error {
	if e.before {
		e.before = false
		e.Empty(p)
	}
	err := e.Reference.Grant(ctx, p, epoch, grants)
	if e.after {
		e.after = false
		e.Empty(p)
	}
	return err
}

// TestCountersAreEmptiedTwice: a node that knows an account's day goes on from that while the
// store is unavailable and the counters are empty, also when they are emptied once more while
// it tells them.
func TestCountersAreEmptiedTwice(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		probed        bool // a probe finds the first time, not the request
		before, after bool
	}{
		"once":                                   {false, false, false},
		"again, before they know the day":        {false, true, false},
		"again, after they know the day":         {false, false, true},
		"found, again, before they know the day": {true, true, false},
		"found, again, after they know the day":  {true, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := limittest.NewDays().Process()
			e := &emptying{Reference: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() })}
			l := New(t.Context(), Options{Counters: e, Clock: clock.NewSystem(), Days: store})
			time.Sleep(time.Hour)
			send := func() {
				t.Helper()
				d, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 100}})
				if err != nil || d.Verdict != ratelimit.Admitted {
					t.Errorf("emptied %s: %+v, %v; want it admitted", name, d, err)
				}
			}
			send()
			store.Break(limittest.Faults{Write: errAway, Read: errAway})
			time.Sleep(probeEvery / 2)
			for range 10 { // until the block is used up, and the store is found to be away
				send()
				time.Sleep(time.Second)
			}
			e.Empty(0)
			if tc.probed {
				time.Sleep(2 * probeEvery)
			}
			e.before, e.after = tc.before, tc.after
			send()
			if e.before || e.after {
				t.Errorf("emptied %s: they were not, so this shows nothing", name)
			}
			store.Break(limittest.Faults{})
			if err := l.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}
