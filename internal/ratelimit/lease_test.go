package ratelimit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/randomtest"
	"petcat/internal/ratelimit"
)

var (
	noon    = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	today   = noon.Unix() / 86_400
	errDisk = errors.New("disk full")
	thou    = petcat.Quota{PerMinute: 100_000, PerDay: 1_000}
)

// rig is a limiter on a store that can be broken.
type rig struct {
	*ratelimit.Memory
	clock *clock.Manual
	days  *limittest.Days
	store *limittest.Process
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{clock: clock.NewManual(noon), days: limittest.NewDays()}
	r.store = r.days.Process()
	r.Memory = ratelimit.NewMemory(ratelimit.Options{Clock: ratelimit.NewClock(r.clock), Days: r.store})
	t.Cleanup(func() {
		r.store.Break(limittest.Faults{})
		if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// newRigThatFails returns a rig in which the account 1 has sent 10 requests before the
// store began to fail, and what the store has leased to it.
func newRigThatFails(t *testing.T, faults limittest.Faults) (_ *rig, leased int64) {
	t.Helper()
	r := newRig(t)
	r.admit(t, 10, 1)
	synctest.Wait()
	leased = r.days.Count(1, today)
	r.store.Break(faults)
	return r, leased
}

// admit sends n requests that must be admitted and returns what is left of the
// day.
func (r *rig) admit(t *testing.T, n int, account petcat.AccountID) int64 {
	t.Helper()
	var left int64
	for range n {
		d, err := r.Spend(t.Context(), ratelimit.Charge{Account: account, Key: 1, Quota: thou})
		if err != nil || d.Verdict != ratelimit.Admitted {
			t.Fatalf("Spend = %+v, %v; want it admitted", d, err)
		}
		left = d.Day.Remaining
	}
	return left
}

// unavailable sends a request that must fail for want of the count.
func (r *rig) unavailable(ctx context.Context, t *testing.T, account petcat.AccountID) {
	t.Helper()
	d, err := r.Spend(ctx, ratelimit.Charge{Account: account, Key: 1, Quota: thou})
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Fatalf("Spend = %+v, %v; want %s", d, err, petcat.CodeServiceUnavailable)
	}
}

// daySpent sends a request that the day must refuse.
func (r *rig) daySpent(t *testing.T, account petcat.AccountID) {
	t.Helper()
	d, err := r.Spend(t.Context(), ratelimit.Charge{Account: account, Key: 1, Quota: thou})
	if err != nil || d.Verdict != ratelimit.DaySpent {
		t.Fatalf("Spend = %+v, %v; want the day spent", d, err)
	}
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestLeasesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		want(t, "left", r.admit(t, 1, 1), 999)
		want(t, "the store's count after the first request", r.days.Count(1, today), 5)
		for n := 2; n <= 1_000; n++ {
			want(t, "left", r.admit(t, 1, 1), int64(1_000-n))
			synctest.Wait()
			if ahead := r.days.Count(1, today) - int64(n); ahead < 0 || ahead > 7 {
				t.Fatalf("%d leased ahead after %d requests, want 0 to 7", ahead, n)
			}
		}
		want(t, "the store's calls for 1000 requests", r.days.Calls(), 200)
		for range 100 {
			d, err := r.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: thou})
			if err != nil || d.Verdict != ratelimit.DaySpent {
				t.Fatalf("Spend = %+v, %v; want the day spent", d, err)
			}
		}
		synctest.Wait()
		want(t, "the store's calls after refused requests", r.days.Calls(), 200)
	})
}

func TestLeaseIsReturnedWhenTheDayTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.admit(t, 12, 1)
		r.clock.Advance(12 * time.Hour)
		want(t, "left of the next day", r.admit(t, 1, 1), 999)
		synctest.Wait()
		want(t, "the first day's count", r.days.Count(1, today), 12)
	})
}

// A disk that is full can still be read.
func TestStoreRefusesWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, leased := newRigThatFails(t, limittest.Faults{Write: errDisk})

		began := time.Now()
		want(t, "left to a known account", r.admit(t, 500, 1), 490)
		want(t, "left to a new account", r.admit(t, 1, 2), 999)
		want(t, "time spent waiting", time.Since(began), 0)
		want(t, "Degraded", r.Stats().Degraded, true)
		want(t, "the store's count", r.days.Count(1, today), leased)

		// The quota holds without the store too.
		r.admit(t, 490, 1)
		r.daySpent(t, 1)

		r.store.Break(limittest.Faults{})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want(t, "Degraded after healing", r.Stats().Degraded, false)
		want(t, "the store's count after healing", r.days.Count(1, today), 1_000)
		want(t, "left to the new account", r.admit(t, 1, 2), 998)
	})
}

func TestStoreCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newRigThatFails(t, limittest.Faults{Write: errDisk, Read: errDisk})
		began := time.Now()
		want(t, "left to a known account", r.admit(t, 100, 1), 890)
		for range 10 {
			r.unavailable(t.Context(), t, 2)
		}
		want(t, "time spent waiting", time.Since(began), 0)

		// Reading comes back first, then writing.
		r.store.Break(limittest.Faults{Write: errDisk})
		time.Sleep(2 * time.Second)
		want(t, "left to a new account", r.admit(t, 1, 2), 999)
		want(t, "left to a newer account", r.admit(t, 1, 3), 999)
		r.store.Break(limittest.Faults{})
		time.Sleep(2 * time.Second)
		want(t, "Degraded after healing", r.Stats().Degraded, false)
		want(t, "left to a known account", r.admit(t, 1, 1), 889)
		if count := r.days.Count(1, today); count < 111 || count > 118 {
			t.Errorf("the store's count = %d, want 111 and at most 7 more", count)
		}
	})
}

func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.admit(t, 2, 1) // 3 are left of the first block
		synctest.Wait()
		free := int(r.days.Count(1, today)) - 2
		r.store.Break(limittest.Faults{Hang: true})

		began := time.Now()
		r.admit(t, free, 1)
		want(t, "time spent waiting while the lease lasts", time.Since(began), 0)
		r.admit(t, 1, 1)
		want(t, "time spent waiting by the first without a lease", time.Since(began), 2*time.Second)
		began = time.Now()
		r.admit(t, 100, 1)
		r.unavailable(t.Context(), t, 2)
		want(t, "time spent waiting by those after it", time.Since(began), 0)

		time.Sleep(time.Minute)
		want(t, "Degraded", r.Stats().Degraded, true)
		r.store.Break(limittest.Faults{})
		time.Sleep(2 * time.Second)
		want(t, "Degraded after healing", r.Stats().Degraded, false)
		want(t, "left", r.admit(t, 1, 1), int64(1_000-2-free-1-100-1))
		want(t, "left to another account", r.admit(t, 1, 2), 999)
	})
}

// A store that does its work and cannot say so leases one block, however often it is
// asked, and takes nothing back twice.
func TestStoreLosesAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, leased := newRigThatFails(t, limittest.Faults{Write: errDisk, LoseAnswer: true})
		r.admit(t, 20, 1)
		time.Sleep(5 * time.Minute) // asked for again every second
		if got := r.days.Count(1, today); got > leased+5 {
			t.Errorf("the store counts %d after lost answers, want a block of 5 more than %d", got, leased)
		}
		r.store.Break(limittest.Faults{})
		time.Sleep(2 * time.Second)
		r.admit(t, 970, 1)
		r.daySpent(t, 1)
		want(t, "the store's count", r.days.Count(1, today), 1_000)

		// The same with what is given back.
		r.admit(t, 12, 2)
		r.store.Break(limittest.Faults{Write: errDisk, LoseAnswer: true})
		r.clock.Advance(11 * time.Minute)
		r.Sweep()
		time.Sleep(5 * time.Minute)
		want(t, "the store's count of what was given back", r.days.Count(2, today), 12)
	})
}

// What is given back late is to be had, though the day seemed spent before.
func TestReturnIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.admit(t, 2, 1)
		r.store.Break(limittest.Faults{Write: errDisk})
		r.clock.Advance(11 * time.Minute)
		r.Sweep() // gives 3 back, in vain
		synctest.Wait()
		r.store.Break(limittest.Faults{})
		r.admit(t, 995, 1)
		r.daySpent(t, 1)
		time.Sleep(2 * time.Second)
		r.admit(t, 3, 1)
		r.daySpent(t, 1)
	})
}

// Whatever becomes of the store's calls, an account never gets more than its day, and
// all of it once the store answers again.
func TestUnknownOutcomes(t *testing.T) {
	randomtest.Run(t, func(t *testing.T, seed uint64) {
		random := randomtest.New(seed)
		for range 40 {
			synctest.Test(t, func(t *testing.T) { testUnknownOutcomes(t, random) })
		}
	})
}

func testUnknownOutcomes(t *testing.T, random *randomtest.Steps) {
	t.Helper()
	type account struct {
		id  petcat.AccountID
		day int64
	}
	quota := petcat.Quota{PerMinute: 100_000, PerDay: []int64{3, 150, 1_000, 10_000}[random.IntN(4)]}
	admitted := make(map[account]int64)
	r := &rig{clock: clock.NewManual(noon), days: limittest.NewDays()}
	store := limittest.NewUnreliable(r.days.Process(), rand.New(rand.NewPCG(random.Uint64(), 0)))
	begin := func() {
		r.Memory = ratelimit.NewMemory(ratelimit.Options{Clock: ratelimit.NewClock(r.clock), Days: store})
	}
	begin()
	spend := func(n int, id petcat.AccountID) {
		for range n {
			d, err := r.Spend(t.Context(), ratelimit.Charge{Account: id, Key: 1, Quota: quota})
			if err == nil && d.Verdict == ratelimit.Admitted {
				a := account{id, petcat.Day.Index(time.Unix(0, d.Now).Unix())}
				if admitted[a]++; admitted[a] > quota.PerDay {
					t.Fatalf("%d admitted of %d", admitted[a], quota.PerDay)
				}
			}
		}
	}
	for range 150 {
		switch random.IntN(12) {
		case 0, 1:
			store.Trouble(true)
		case 2:
			store.Trouble(false)
		case 3:
			r.clock.Advance(time.Duration(random.IntN(20)) * time.Minute)
			r.Sweep()
		case 4:
			r.clock.Advance(time.Duration(random.IntN(3)) * time.Hour)
		case 5:
			time.Sleep(time.Duration(random.IntN(40)) * time.Second)
		case 6:
			if random.IntN(4) == 0 { // another process, when all is well
				store.Trouble(false)
				time.Sleep(30 * time.Second)
				if err := r.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				begin()
			}
		default:
			spend(1+random.IntN(max(2, int(quota.PerDay)/20)), petcat.AccountID(1+random.IntN(3)))
		}
	}
	store.Trouble(false)
	time.Sleep(30 * time.Second)
	today := petcat.Day.Index(r.clock.Read().Time().Unix())
	for id := range petcat.AccountID(3) {
		spend(int(quota.PerDay)+1, id+1)
		want(t, "admitted in all", admitted[account{id + 1, today}], quota.PerDay)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for a, n := range admitted {
		// What is owed of a day that is over is not told.
		if got := r.days.Count(a.id, a.day); got > n || a.day == today && got < n {
			t.Errorf("the store counts %d of account %d on day %d, want %d", got, a.id, a.day-today, n)
		}
	}
}

func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.store.Break(limittest.Faults{Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		r.unavailable(ctx, t, 1)
		want(t, "time spent waiting", time.Since(began), 100*time.Millisecond)
		r.store.Break(limittest.Faults{})
		want(t, "left: nothing was charged", r.admit(t, 1, 1), 999)
	})
}

func TestCloseRecordsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newRigThatFails(t, limittest.Faults{Write: errDisk})
		r.admit(t, 100, 1) // 7 at most are leased
		r.admit(t, 3, 2)
		r.store.Break(limittest.Faults{})
		for range 2 { // closing twice is closing once
			if err := r.Close(t.Context()); err != nil {
				t.Fatalf("Close: %v", err)
			}
		}
		want(t, "the store's count", r.days.Count(1, today), 110)
		want(t, "the store's count of the other account", r.days.Count(2, today), 3)
		r.unavailable(t.Context(), t, 1)
	})
}

func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.admit(t, 1, 1)
		r.store.Break(limittest.Faults{Hang: true})
		var waiter sync.WaitGroup
		waiter.Go(func() { r.unavailable(t.Context(), t, 2) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close = %v, want the deadline's error", err)
		}
		want(t, "time that Close took", time.Since(began), time.Second)
		waiter.Wait()
	})
}
