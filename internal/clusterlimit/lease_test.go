package clusterlimit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counters"
	"petcat/internal/counterstest"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

// hangsFor is a [petcat.DayStore] whose calls hang that lease for some accounts.
type hangsFor struct {
	petcat.DayStore

	accounts []petcat.AccountID
}

func (s *hangsFor) LeaseShared(ctx context.Context, leases []petcat.SharedLease) ([]petcat.SharedLeased, error) {
	if slices.ContainsFunc(leases, func(l petcat.SharedLease) bool { return slices.Contains(s.accounts, l.Account) }) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.DayStore.LeaseShared(ctx, leases)
}

// TestSlowLeases: while a call of the store hangs, other accounts are leased for in three more
// at once. Only when all four hang others wait, too, as long as a request waits for a lease.
func TestSlowLeases(t *testing.T) {
	t.Parallel()
	for hung, want := range map[int]time.Duration{1: 0, 3: 0, 4: ratelimit.LeaseTimeout} {
		synctest.Test(t, func(t *testing.T) {
			store := &hangsFor{DayStore: limittest.NewDays().Process()}
			for i := range hung {
				store.accounts = append(store.accounts, petcat.AccountID(i+1))
			}
			l := testNodeWith(t, Options{
				Counters: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() }), Clock: clock.NewSystem(), Days: store,
			})
			send := func(account petcat.AccountID, want time.Duration) {
				began := time.Now()
				d, err := l.Spend(t.Context(), ratelimit.Charge{Account: account, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}})
				if waited := time.Since(began); err != nil || d.Verdict != ratelimit.Admitted || waited != want {
					t.Errorf("%d calls hang, account %d: %+v, %v after %s, want it admitted after %s", hung, account, d, err, waited, want)
				}
			}
			var slow sync.WaitGroup
			for _, account := range store.accounts {
				slow.Go(func() { send(account, ratelimit.LeaseTimeout) })
				time.Sleep(time.Millisecond) // so that each has a call of its own
			}
			send(100, want)
			slow.Wait()
		})
	}
}

// counted is a [petcat.DayStore] that counts the calls of LeaseShared.
type counted struct {
	petcat.DayStore

	calls atomic.Int64
}

func (s *counted) LeaseShared(ctx context.Context, leases []petcat.SharedLease) ([]petcat.SharedLeased, error) {
	s.calls.Add(1)
	return s.DayStore.LeaseShared(ctx, leases)
}

// TestIdleNodeLeasesNothing: the store is called when there is something to lease, and not
// otherwise.
func TestIdleNodeLeasesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &counted{DayStore: limittest.NewDays().Process()}
		l := testNodeWith(t, Options{
			Counters: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() }), Clock: clock.NewSystem(), Days: store,
		})
		if calls := store.calls.Load(); calls != 0 {
			t.Errorf("%d calls before the first request", calls)
		}
		if _, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if calls := store.calls.Load(); calls != 1 {
			t.Errorf("%d calls for one request, want 1", calls)
		}
	})
}

// testLeaser returns a leaser that nobody runs: what it begins stays under way.
func testLeaser(days petcat.DayStore) *leaser {
	l := &Limiter{options: Options{Days: days}}
	l.options.defaults()
	return &leaser{l: l, wake: make(chan struct{}, 1), jobs: make(map[petcat.AccountID]*job)}
}

// TestLeaseAhead: the next block is leased once, when half of one is left, while the day has
// something left; and again when nothing is left, or something is owed.
func TestLeaseAhead(t *testing.T) {
	t.Parallel()
	quota := petcat.Quota{PerMinute: 600, PerDay: 10_000}
	half := ratelimit.LeaseBlock(quota) / 2
	for name, tc := range map[string]struct {
		day      counters.Day
		admitted int64
		want     bool
	}{
		"more than half is left":               {counters.Day{Known: true, Count: 500, Free: half + 1}, 10, false},
		"half is left":                         {counters.Day{Known: true, Count: 500, Free: half}, 1, true},
		"it was left before":                   {counters.Day{Known: true, Count: 500, Free: half - 1}, 1, false},
		"it was left by what was admitted now": {counters.Day{Known: true, Count: 500, Free: half - 1}, 2, true},
		"nothing is left":                      {counters.Day{Known: true, Count: 500}, 0, true},
		"half is left, and the day is spent":   {counters.Day{Known: true, Count: quota.PerDay, Free: half}, 1, false},
		"half is left, and one of the day":     {counters.Day{Known: true, Count: quota.PerDay - 1, Free: half}, 1, true},
		"the day is spent, and one is owed":    {counters.Day{Known: true, Count: quota.PerDay, Owed: 1}, 1, true},
		"the day is not known":                 {counters.Day{}, 0, false},
	} {
		le := testLeaser(nil)
		le.ahead(ratelimit.Charge{Account: 1, Quota: quota}, counters.Facts{Admitted: tc.admitted, Day: tc.day})
		if got := le.jobs[1] != nil; got != tc.want {
			t.Errorf("%s: it leases: %v, want %v", name, got, tc.want)
		}
	}
}

// TestAwaited: requests wait with those of their account that wait already, and with no
// others.
func TestAwaited(t *testing.T) {
	t.Parallel()
	le := testLeaser(nil)
	begin := func(account petcat.AccountID, waiters int64) *job {
		return le.begin(ratelimit.Charge{Account: account}, counters.Facts{Day: counters.Day{Series: 1}}, waiters)
	}
	want := func(what string, jobs ...*job) {
		t.Helper()
		for i, j := range jobs {
			if got := le.awaited(petcat.AccountID(i + 1)); got != j {
				t.Errorf("%s: account %d waits for job %p, want %p", what, i+1, got, j)
			}
		}
	}
	first := begin(1, 0)
	want("leased ahead", nil, nil, nil)
	if j := begin(1, 2); j != first {
		t.Errorf("two jobs of one account")
	}
	want("two wait", first, nil, nil)
	begin(1, 3)
	begin(1, 1)
	if first.waiters != 3 {
		t.Errorf("%d wait, want 3, the most that shared one call", first.waiters)
	}
	second, third := begin(2, 1), begin(3, 0)
	want("others wait", first, second, nil)
	end := func(jobs ...*job) { le.finish(jobs, slices.Repeat([]counters.Grant{{Series: 1}}, len(jobs)), nil) }
	end(third)
	want("a job that nobody waits for ends", first, second, nil)
	end(first)
	want("a job ends", nil, second, nil)
	end(second)
	if n := le.waited.Load(); n != 0 {
		t.Errorf("requests wait for %d jobs, want none", n)
	}
}

// TestWhatAJobKnows: a job goes by what the counters told last, and keeps what is owed in
// series that they have forgotten.
func TestWhatAJobKnows(t *testing.T) {
	t.Parallel()
	const at = 20_000*24*int64(time.Hour) + int64(7*time.Second)
	facts := func(series, now, owed int64) counters.Facts {
		return counters.Facts{Now: at + now, Day: counters.Day{Series: series, Owed: owed}}
	}
	const day = 24 * int64(time.Hour)
	for name, tc := range map[string]struct{ told, want []counters.Facts }{
		"the last": {
			[]counters.Facts{facts(1, 0, 3), facts(1, 1, 4)},
			[]counters.Facts{facts(1, 1, 4)},
		},
		"the last of one moment": {
			[]counters.Facts{facts(1, 1, 3), facts(1, 1, 4)},
			[]counters.Facts{facts(1, 1, 4)},
		},
		"an answer that was overtaken": {
			[]counters.Facts{facts(1, 1, 4), facts(1, 0, 3)},
			[]counters.Facts{facts(1, 1, 4)},
		},
		"something is owed in another series": {
			[]counters.Facts{facts(1, 0, 3), facts(2, 1, 0)},
			[]counters.Facts{facts(1, 0, 3), facts(2, 1, 0)},
		},
		"nothing is owed in another series": {
			[]counters.Facts{facts(1, 0, 0), facts(2, 1, 0)},
			[]counters.Facts{facts(2, 1, 0)},
		},
		"an answer that was overtaken, in which something is owed": {
			[]counters.Facts{facts(2, 1, 0), facts(1, 0, 3)},
			[]counters.Facts{facts(1, 0, 3)},
		},
		"one in which nothing is": {
			[]counters.Facts{facts(2, 1, 5), facts(1, 0, 0)},
			[]counters.Facts{facts(2, 1, 5)},
		},
		"something is owed of the day before": {
			[]counters.Facts{facts(1, 0, 3), facts(2, day, 0)},
			[]counters.Facts{facts(2, day, 0)},
		},
	} {
		var j job
		for _, f := range tc.told {
			j.tell(petcat.Quota{}, f)
		}
		if diff := cmp.Diff(tc.want, j.facts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var j job
	for series := range int64(mostForgotten + 5) {
		j.tell(petcat.Quota{}, facts(series, series, 1))
	}
	if first, last := j.facts[0].Day.Series, j.facts[len(j.facts)-1].Day.Series; len(j.facts) != mostForgotten+1 || first != 4 || last != mostForgotten+4 {
		t.Errorf("it keeps %d series, from %d to %d", len(j.facts), first, last)
	}
}

// TestLeftToLease: what is owed after a grant is leased again, while the day has something
// left.
func TestLeftToLease(t *testing.T) {
	t.Parallel()
	const granted, owed, perDay = 50, 7, 1_000
	for name, tc := range map[string]struct {
		series, granted, count int64
		left                   bool
		wantGranted, wantOwed  int64
	}{
		"more than is owed":                    {1, 60, 200, false, 60, -3},
		"as much as is owed":                   {1, 57, 200, false, 57, 0},
		"less":                                 {1, 55, 200, true, 55, 2},
		"less, and one is left of the day":     {1, 55, perDay - 1, true, 55, 2},
		"less, and the day is spent":           {1, 55, perDay, false, 55, 2},
		"to another node, which knew of less":  {1, 40, 200, true, 50, 7},
		"in another series, whatever was told": {2, 60, perDay, true, 50, 7},
	} {
		j := job{Charge: ratelimit.Charge{Quota: petcat.Quota{PerDay: perDay}}}
		f := counters.Facts{Day: counters.Day{Series: 1, Granted: granted, Owed: owed}}
		left := j.left(&f, counters.Grant{Series: tc.series, Granted: tc.granted, Count: tc.count})
		if left != tc.left || f.Day.Granted != tc.wantGranted || f.Day.Owed != tc.wantOwed {
			t.Errorf("%s: left %v, %d granted, %d owed; want %v, %d, %d", name, left, f.Day.Granted, f.Day.Owed, tc.left, tc.wantGranted, tc.wantOwed)
		}
	}
}

// TestDayIsRead: a store that cannot tell a day's count is not asked again until it works. A
// caller that goes away says nothing about it.
func TestDayIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		days := limittest.NewDays().Process()
		le := testLeaser(days)
		if _, err := days.LeaseShared(t.Context(), []petcat.SharedLease{{Account: 1, Day: 5, Quota: 1_000, Series: 1, Want: 30}}); err != nil {
			t.Fatal(err)
		}
		read := func(ctx context.Context, want int64, wantErr error) {
			t.Helper()
			if n, err := le.read(ctx, 1, 5); n != want || !errors.Is(err, wantErr) {
				t.Errorf("%d, %v; want %d, %v", n, err, want, wantErr)
			}
		}
		read(t.Context(), 30, nil)
		gone, cancel := context.WithCancel(t.Context())
		days.Break(limittest.Faults{Hang: true})
		time.AfterFunc(time.Millisecond, cancel)
		read(gone, 0, context.Canceled)
		days.Break(limittest.Faults{})
		read(t.Context(), 30, nil)
		days.Break(limittest.Faults{Read: errAway})
		read(t.Context(), 0, errAway)
		days.Break(limittest.Faults{})
		read(t.Context(), 0, errAway) // it was not asked
		le.worked()
		read(t.Context(), 30, nil)
	})
}
