package limittest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// drain spends what is left, and returns how much that was. Many senders make
// the most of a limiter that asks a server.
func (r *rig) drain(c ratelimit.Charge) int64 {
	var admitted atomic.Int64
	var senders sync.WaitGroup
	for range 32 {
		senders.Go(func() {
			for {
				d, err := r.limiter.Spend(r.t.Context(), c)
				if err != nil {
					r.t.Errorf("Spend: %v", err)
					return
				}
				if d.Verdict != ratelimit.Admitted {
					return
				}
				admitted.Add(1)
			}
		})
	}
	senders.Wait()
	return admitted.Load()
}

// testSharedRestart: nothing is lost with a process that counts elsewhere, and nothing
// is won.
func testSharedRestart(t *testing.T, start New) {
	key := ratelimit.Charge{Account: 1, Key: 11, Quota: petcat.Quota{PerMinute: 500, PerDay: 1_000}}
	for _, end := range []struct {
		name string
		of   func(*rig)
	}{{"in order", (*rig).restart}, {"by a crash", (*rig).crash}} {
		t.Run(end.name, func(t *testing.T) {
			r := newRig(t, start, petcat.EnforceBans)
			for i := range 5 {
				d := r.spendTimes(100, key, ratelimit.Admitted)
				wantEqual(t, "Minute.Remaining", d.Minute.Remaining, int64(400-100*i))
				wantEqual(t, "Day.Remaining", d.Day.Remaining, int64(900-100*i))
				end.of(r)
			}
			r.spendTimes(1, key, ratelimit.MinuteSpent)
			r.clock.Advance(time.Minute)
			r.spendTimes(500, key, ratelimit.Admitted)
			end.of(r)
			r.spendTimes(1, key, ratelimit.DaySpent)
		})
	}
}

func testRestart(t *testing.T, start New) {
	key := ratelimit.Charge{Account: 1, Key: 11, Quota: petcat.Quota{PerMinute: 100_000, PerDay: 1_000}}

	t.Run("in order: the day's count is exact", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		for i := range 10 {
			d := r.spendTimes(100, key, ratelimit.Admitted)
			wantEqual(t, "Day.Remaining", d.Day.Remaining, int64(900-100*i))
			r.restart()
		}
		r.spendTimes(1, key, ratelimit.DaySpent)
	})

	for _, quota := range []int64{1_000, 10_000, 100_000} {
		t.Run(fmt.Sprintf("a crash costs at most a hundredth of %d", quota), func(t *testing.T) {
			for _, before := range []int{1, 2, 3, 4, 5, 100, 333, 997} {
				r := newRig(t, start, petcat.EnforceBans)
				c := key
				c.Quota.PerDay = quota
				r.spendTimes(before, c, ratelimit.Admitted)
				r.crash()
				admitted := int64(before) + r.drain(c)
				if admitted > quota || admitted < quota-quota/100 {
					t.Errorf("crash after %d requests: %d admitted of %d", before, admitted, quota)
				}
			}
		})
	}

	t.Run("many crashes never add a request", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		admitted := 0
		for range 300 {
			for range 7 {
				if r.spend(key).Verdict == ratelimit.Admitted {
					admitted++
				}
			}
			r.crash()
		}
		if admitted > 1_000 {
			t.Errorf("%d admitted of 1000", admitted)
		}
	})

	t.Run("with the clock set back over midnight", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.spendTimes(500, key, ratelimit.Admitted)
		r.clock.Step(24 * time.Hour)
		r.spendTimes(100, key, ratelimit.Admitted)
		r.clock.Step(-24 * time.Hour)
		r.restart()
		wantEqual(t, "Day.Remaining of the first day", r.spendTimes(1, key, ratelimit.Admitted).Day.Remaining, 499)
	})
}
