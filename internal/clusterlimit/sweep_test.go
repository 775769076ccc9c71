package clusterlimit

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/counterstest"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
)

// remembered returns how many accounts a node remembers.
func (as *accounts) remembered() (n int) {
	for i := range as.shards {
		s := &as.shards[i]
		s.mu.Lock()
		n += len(s.accounts)
		s.mu.Unlock()
	}
	return n
}

// TestIdleAccountsAreForgotten: a node remembers an account for ten minutes after its last
// request, and not for eleven and a half; in all partitions.
func TestIdleAccountsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const accounts, active = 100, 30
		l := testNode(t, counterstest.NewReference(7, func() int64 { return time.Now().UnixNano() }), petcat.BansOff)
		send := func(n int) {
			for account := range n {
				c := ratelimit.Charge{Account: petcat.AccountID(account), Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}}
				if d, err := l.Spend(t.Context(), c); err != nil || d.Verdict != ratelimit.Admitted {
					t.Errorf("account %d: %+v, %v", account, d, err)
				}
			}
		}
		send(accounts)
		for minute := 1; minute <= 30; minute++ {
			time.Sleep(time.Minute)
			send(active)
			want := accounts
			if minute > idleMinutes+1 {
				want = active
			}
			if n := l.accounts.remembered(); n != want && minute != idleMinutes+1 {
				t.Errorf("%d minutes after the last request of most of them, %d accounts are remembered, want %d", minute, n, want)
			}
		}
	})
}

// leasedDays is a [petcat.DayStore] that counts the leases for counters by their day.
type leasedDays struct {
	petcat.DayStore

	mu   sync.Mutex
	rows map[int64]int // guarded by mu
}

func (s *leasedDays) LeaseShared(ctx context.Context, leases []petcat.SharedLease) ([]petcat.SharedLeased, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range leases {
		s.rows[l.Day]++
	}
	return s.DayStore.LeaseShared(ctx, leases)
}

func (s *leasedDays) leases(day int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[day]
}

// TestTomorrowIsLeasedAhead: of accounts that are active in a day's last minutes, the first
// block of the next day is in the store before it begins, once, and no request of its first
// instant waits for a lease.
func TestTomorrowIsLeasedAhead(t *testing.T) {
	t.Parallel()
	for before, nights := range map[time.Duration]int{25 * time.Minute: 1, 10 * time.Minute: 2, 2 * time.Minute: 1} {
		if testing.Short() {
			nights = 1 // a virtual day takes seconds
		}
		synctest.Test(t, func(t *testing.T) { testTomorrow(t, before, nights) })
	}
}

func testTomorrow(t *testing.T, before time.Duration, nights int) {
	t.Helper()
	const accounts = 100
	midnight := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
	time.Sleep(time.Until(midnight.Add(-time.Hour)))
	days := limittest.NewDays()
	store := &leasedDays{DayStore: days.Process(), rows: make(map[int64]int)}
	l := New(t.Context(), Options{
		Counters: counterstest.NewReference(3, func() int64 { return time.Now().UnixNano() }), Clock: clock.NewSystem(), Days: store,
	})
	quota := petcat.Quota{PerMinute: 60, PerDay: 1_000}
	send := func() {
		for account := range accounts {
			c := ratelimit.Charge{Account: petcat.AccountID(account), Key: 1, Quota: quota}
			if d, err := l.Spend(t.Context(), c); err != nil || d.Verdict != ratelimit.Admitted {
				t.Errorf("account %d: %+v, %v", account, d, err)
			}
		}
	}
	for night := range nights {
		for range night * (24*60 - 15) / 5 { // in all of a day no account is forgotten
			time.Sleep(5 * time.Minute)
			send()
		}
		time.Sleep(time.Until(midnight.Add(-before)))
		send()
		time.Sleep(time.Until(midnight.Add(-time.Nanosecond)))
		tomorrow := dayOf(midnight.UnixNano())
		for account := range accounts {
			if n := days.Count(petcat.AccountID(account), tomorrow); n != ratelimit.LeaseBlock(quota) {
				t.Errorf("active %s before midnight: %d of account %d's next day are leased, want a block of %d", before, n, account, ratelimit.LeaseBlock(quota))
			}
		}
		time.Sleep(time.Nanosecond)
		send()
		if n := store.leases(tomorrow); n != accounts {
			t.Errorf("active %s before midnight: %d leases of the next day, want one for each of %d accounts, before it began", before, n, accounts)
		}
		midnight = midnight.Add(24 * time.Hour)
	}
	_ = l.Close(context.WithoutCancel(t.Context()))
	time.Sleep(time.Minute) // calls that nobody waits for end
}
