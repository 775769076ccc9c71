package counterstest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/counters"
)

func testMinute(t *testing.T, start Start) {
	t.Run("as many are admitted as there is room for", func(t *testing.T) {
		r := newRig(t, start)
		began := r.begin(free(0), 1_000)
		for i, step := range []struct{ requests, admitted, used int64 }{
			{1, 1, 1}, {0, 0, 1}, {40, 40, 41}, {40, 19, 60}, {1, 0, 60}, {0, 0, 60},
		} {
			f := r.charge(i%2, free(step.requests))
			began.Day.Free -= step.admitted
			wantFacts(t, "a charge", f, counters.Facts{Admitted: step.admitted, MinuteUsed: step.used, Day: began.Day})
		}
		r.Step(time.Minute)
		wantEqual(t, "admitted in the next minute", r.charge(0, free(100)).Admitted, 60)
	})

	t.Run("the limit is each charge's own", func(t *testing.T) {
		r := newRig(t, start)
		r.begin(free(0), 1_000)
		for _, step := range []struct{ perMinute, admitted, used int64 }{
			{10, 10, 10}, {5, 0, 10}, {0, 0, 10}, {-3, 0, 10}, {12, 2, 12}, {60, 48, 60}, {20, 0, 60}, {300, 100, 160},
		} {
			c := free(100)
			c.PerMinute = step.perMinute
			f := r.charge(0, c)
			wantEqual(t, "admitted", f.Admitted, step.admitted)
			wantEqual(t, "MinuteUsed", f.MinuteUsed, step.used)
		}
	})

	t.Run("what was admitted elsewhere is added to its minute, whatever the limit", func(t *testing.T) {
		r := newRig(t, start)
		minute := minuteOf(r.begin(free(0), 1_000).Now)
		for _, step := range []struct{ minute, reported, requests, admitted, used int64 }{
			{minute, 20, 10, 10, 30},
			{minute - 1, 7, 0, 0, 30},
			{minute + 1, 7, 0, 0, 30},
			{minute, 50, 10, 0, 80},
		} {
			c := free(step.requests)
			c.Minute, c.Reported = step.minute, step.reported
			f := r.charge(1, c)
			wantEqual(t, "admitted", f.Admitted, step.admitted)
			wantEqual(t, "MinuteUsed", f.MinuteUsed, step.used)
			wantEqual(t, "used of the day, which who reports has leased elsewhere", f.Day.Used(), 10)
		}
	})

	t.Run("accounts of a call do not meet", func(t *testing.T) {
		r := newRig(t, start)
		n := petcat.AccountID(r.Nodes[0].Partitions())
		var charges []counters.Charge
		for i := range petcat.AccountID(100) {
			c := free(int64(i))
			c.Account = account + i*n
			r.begin(c, 50)
			charges = append(charges, c)
		}
		p := r.partition(account)
		facts, err := r.Nodes[1].Charge(t.Context(), p, r.epochs[p], charges)
		if err != nil || len(facts) != len(charges) {
			t.Fatalf("Charge = %d facts, %v", len(facts), err)
		}
		for i, f := range facts {
			wantEqual(t, "admitted", f.Admitted, min(int64(i), 50))
		}
	})

	t.Run("no charges", func(t *testing.T) {
		r := newRig(t, start)
		if facts, err := r.Nodes[0].Charge(t.Context(), 0, r.epochs[0], nil); len(facts) != 0 || err != nil {
			t.Errorf("Charge of nothing = %v, %v", facts, err)
		}
		if err := r.Nodes[0].Grant(t.Context(), 0, r.epochs[0], nil); err != nil {
			t.Errorf("Grant of nothing = %v", err)
		}
	})
}

// testParallel: however many race from two nodes, exactly so many are admitted.
func testParallel(t *testing.T, start Start) {
	r := newRig(t, start)
	n := petcat.AccountID(r.Nodes[0].Partitions())
	big := counters.Charge{PerMinute: 100, PerDay: 1_000, Series: 5}
	for a := range 2 * n {
		big.Account = account + a
		r.begin(big, 1_000)
	}
	p := r.partition(account)
	var admitted [2]atomic.Int64
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for range 20 {
				one, other := big, big
				one.Account, one.Requests = account, 1
				other.Account, other.Requests = account+n, 3
				facts, err := r.Nodes[g%2].Charge(t.Context(), p, r.epochs[p], []counters.Charge{one, other})
				if err != nil {
					t.Errorf("Charge: %v", err)
					return
				}
				admitted[0].Add(facts[0].Admitted)
				admitted[1].Add(facts[1].Admitted)
			}
		})
	}
	wg.Wait()
	wantEqual(t, "admitted of 320 requests", admitted[0].Load(), 100)
	wantEqual(t, "admitted of 960 requests", admitted[1].Load(), 100)
}
