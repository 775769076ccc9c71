package clusterlimit

import (
	"sync"
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

// TestAnswersOfTheCounters: what a request is told when the counters have decided it, and
// what the node does with their answer.
func TestAnswersOfTheCounters(t *testing.T) {
	t.Parallel()
	quota := petcat.Quota{PerMinute: 60, PerDay: 1_000}
	for name, tc := range map[string]struct {
		limit           int64
		taken           bool // of the node's budget, of which 5 of 20 are spent
		minute, day     int64
		admitted        bool
		verdict         ratelimit.Verdict
		remaining       int64
		byShare, leases bool
		spent           int64
	}{
		"admitted":                    {60, false, 10, 500, true, ratelimit.Admitted, 50, false, false, 6},
		"admitted, room is left":      {40, false, 10, 500, true, ratelimit.Admitted, 30, true, false, 6},
		"admitted within a budget":    {60, true, 10, 500, true, ratelimit.Admitted, 15, true, false, 5},
		"admitted, and a larger one":  {60, true, 50, 500, true, ratelimit.Admitted, 10, false, false, 5},
		"the minute is spent":         {60, false, 60, 999, false, ratelimit.MinuteSpent, 0, false, false, 5},
		"what no room is left for":    {40, false, 40, 999, false, ratelimit.MinuteSpent, 0, true, false, 5},
		"the minute, within a budget": {60, true, 60, 999, false, ratelimit.MinuteSpent, 0, false, false, 4},
		"the day is spent":            {60, false, 10, 1_000, false, ratelimit.DaySpent, 50, false, true, 5},
		"the day is overspent":        {60, false, 10, 1_001, false, ratelimit.DaySpent, 50, false, true, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			days := limittest.NewDays().Process()
			l := testNodeWith(t, Options{
				Counters: counterstest.NewReference(1, func() int64 { return time.Now().UnixNano() }), Clock: clock.NewSystem(), Days: days,
			})
			days.Break(limittest.Faults{Hang: true}) // what is leased stays under way
			now := time.Now().UnixNano()
			charge := ratelimit.Charge{Account: 1, Key: 1, Quota: quota}
			r := request{Charge: charge, l: l, p: l.partitionOf(1)}
			if tc.taken {
				r.taken = minuteOf(now)
			}
			r.with(func(a *account) {
				a.rollOver(now)
				a.budget, a.quota, a.spent = 20, 60, 5
			})
			d := r.decided(&pendingCharge{charge: charge, limit: tc.limit, admitted: tc.admitted, facts: counters.Facts{
				Now: now, MinuteUsed: tc.minute, Day: counters.Day{Series: 1, Known: true, Count: tc.day, Granted: tc.day},
			}})
			if d.Verdict != tc.verdict || d.Minute.Remaining != tc.remaining || d.ByShare != tc.byShare {
				t.Errorf("%s: %+v; want verdict %v, %d left of the minute, by the share %v", name, d, tc.verdict, tc.remaining, tc.byShare)
			}
			r.with(func(a *account) {
				if a.spent != tc.spent {
					t.Errorf("%s: %d of the budget are spent, want %d", name, a.spent, tc.spent)
				}
			})
			l.leaser.mu.Lock()
			leases := l.leaser.jobs[1] != nil
			l.leaser.mu.Unlock()
			if leases != tc.leases {
				t.Errorf("%s: it leases: %v, want %v", name, leases, tc.leases)
			}
			days.Break(limittest.Faults{})
		})
	}
}

// TestRequestsOfOneCall: requests of an account that share a call are answered as if they had
// been decided one by one.
func TestRequestsOfOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newWork(10 * time.Millisecond)
		l := testNode(t, c, petcat.BansOff)
		charge := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 8, PerDay: 1_000}}
		if _, err := l.Spend(t.Context(), charge); err != nil { // the first block is leased
			t.Fatal(err)
		}
		var mu sync.Mutex
		left := make(map[ratelimit.Verdict]map[int64]int)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				d, err := l.Spend(t.Context(), charge)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if left[d.Verdict] == nil {
					left[d.Verdict] = make(map[int64]int)
				}
				left[d.Verdict][d.Minute.Remaining]++
				if d.Verdict == ratelimit.Admitted && d.Day.Remaining-d.Minute.Remaining != 1_000-8 {
					t.Errorf("%d are left of the minute, and %d of the day", d.Minute.Remaining, d.Day.Remaining)
				}
			})
		}
		all.Wait()
		for n := range int64(7) {
			if left[ratelimit.Admitted][n] != 1 {
				t.Errorf("%d requests were told that %d are left, want 1: %v", left[ratelimit.Admitted][n], n, left)
			}
		}
		if left[ratelimit.MinuteSpent][0] != 3 {
			t.Errorf("%d were refused, want 3: %v", left[ratelimit.MinuteSpent][0], left)
		}
	})
}

// TestWaitersOfOneCall: where a call's requests find a block too small, the next is leased for
// those of them that it does not hold.
func TestWaitersOfOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		days := limittest.NewDays().Process()
		l := testNodeWith(t, Options{Counters: newWork(10 * time.Millisecond), Clock: clock.NewSystem(), Days: days})
		charge := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 2_000}}
		if _, err := l.Spend(t.Context(), charge); err != nil {
			t.Fatal(err)
		}
		const free = 2_000/100 - 1 // leased because somebody waited, and spent by the first
		days.Break(limittest.Faults{Hang: true})
		var all sync.WaitGroup
		send := func(account petcat.AccountID) {
			all.Go(func() {
				if _, err := l.Spend(t.Context(), ratelimit.Charge{Account: account, Key: 1, Quota: charge.Quota}); err != nil {
					t.Error(err)
				}
			})
		}
		for account := range petcat.AccountID(callsAtOnce) {
			send(2 + account)
			time.Sleep(time.Millisecond)
		}
		for range 30 { // share the next call
			send(1)
		}
		time.Sleep(100 * time.Millisecond)
		l.leaser.mu.Lock()
		waiters := l.leaser.jobs[1].waiters
		l.leaser.mu.Unlock()
		if waiters != 30-free {
			t.Errorf("the block is leased for %d, want %d", waiters, 30-free)
		}
		days.Break(limittest.Faults{})
		all.Wait()
	})
}

// TestWhatIsLeased: a block; more where requests wait, as far as the minute admits them, and
// what others may need beside them; and what is owed.
func TestWhatIsLeased(t *testing.T) {
	t.Parallel()
	const at = 20_000*24*int64(time.Hour) + int64(7*time.Second)
	quota := petcat.Quota{PerMinute: 600, PerDay: 10_000}
	for name, tc := range map[string]struct {
		waiters, used, free, owed int64
		want                      int64
	}{
		"a block":                              {0, 10, 3, 0, 50},
		"and what is owed":                     {0, 10, 0, 7, 57},
		"some wait":                            {2, 10, 3, 0, 97},
		"some wait, and something is owed":     {2, 10, 0, 7, 107},
		"more wait than others may need":       {500, 10, 90, 0, 500},
		"more wait than the minute has left":   {500, 400, 90, 0, 200},
		"many wait, and the minute is used up": {500, 600, 90, 0, 50},
	} {
		j := job{Charge: ratelimit.Charge{Account: 1, Quota: quota}, waiters: tc.waiters, facts: []counters.Facts{{
			Now: at, MinuteUsed: tc.used, Day: counters.Day{Series: 9, Known: true, Count: 60, Granted: 50, Free: tc.free, Owed: tc.owed},
		}}}
		want := petcat.SharedLease{Account: 1, Day: 20_000, Quota: 10_000, Series: 9, Granted: 50, Want: tc.want}
		if got := j.lease(); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
