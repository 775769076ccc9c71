package petcat

import (
	"context"
	"fmt"
)

// DayLease asks for a block of an account's requests of one UTC day, to be
// handed out later from memory. Leasing ahead is how a day's count survives a
// crash without a write per request: what was leased counts as used until it is
// returned, so a crash can only leave an account with less than its quota.
type DayLease struct {
	Account AccountID
	Day     int64 // days since the epoch: [Day].Index
	Want    int64 // how many requests; less is granted near the quota
	Quota   int64 // the account's quota for the day
}

// DayLeased is the answer to a DayLease.
type DayLeased struct {
	Granted int64 // from 0 to Want
	Count   int64 // used or leased of the day by everybody, Granted included
}

// DayReturn gives back what was leased and not used.
type DayReturn struct {
	Account AccountID
	Day     int64
	Unused  int64
}

// SharedLease asks for a block of an account's requests of one UTC day on behalf of
// counters that several nodes share. The counters know the sum of what they were
// granted in a series, which ends when they forget the account's day. Each lease contains
// that sum, so it needs no number: any node may repeat it, and the answer contains what was
// already leased, which is not leased twice.
type SharedLease struct {
	Account AccountID
	Day     int64 // days since the epoch: [Day].Index
	Want    int64 // how many requests; less is granted near the quota
	Quota   int64 // the account's quota for the day
	Series  int64 // random, from 1
	Granted int64 // the sum that the counters know of in the series
}

// SharedLeased is the answer to a SharedLease.
type SharedLeased struct {
	Granted int64 // the sum in the series, from SharedLease.Granted upwards
	Count   int64 // used or leased of the day by everybody
}

// DayCall names a call that changes counts, so that it can be made again when
// its outcome is not known: a store does it once. A caller makes one call at a
// time, and makes the same one, with the same number and the same contents, until
// it is answered.
type DayCall struct {
	Caller string // unique, for leases or for returns, in one process
	Number int64  // from 1, one more for each call of the caller
}

// DayStore keeps how much of each account's day is used or leased.
type DayStore interface {
	// LeaseDays grants leases durably. The answers are in the order of the leases. The
	// count of a day never exceeds the quota in the lease. No two leases of a call may be
	// for the same account and day. A repeated call grants what it granted the first time,
	// and returns the counts of now. A call with a number below the caller's last one
	// arrived late: it is an error and grants nothing.
	LeaseDays(ctx context.Context, call DayCall, leases []DayLease) ([]DayLeased, error)
	// LeaseShared grants leases durably. The answers are in the order of the leases. The
	// count of a day never exceeds the quota in the lease. No two leases of a call may be
	// for the same account and day. If more was granted in the series than the lease says,
	// nothing is leased, and the answer is the sum of the series. A lease of a new series
	// begins it; what was granted in the series before stays counted.
	LeaseShared(ctx context.Context, leases []SharedLease) ([]SharedLeased, error)
	// ReturnDays returns unused requests. A repeated call, or one that arrives after a
	// later one, changes nothing.
	ReturnDays(ctx context.Context, call DayCall, returns []DayReturn) error
	// DayCount returns how much is used or leased.
	DayCount(ctx context.Context, account AccountID, day int64) (int64, error)
}

// CheckDayLeases returns an error when two leases of a call are of the same
// account's same day.
func CheckDayLeases(leases []DayLease) error {
	return checkDays(leases, func(l DayLease) accountDay { return accountDay{l.Account, l.Day} })
}

// CheckSharedLeases returns an error when two leases of a call are of the same
// account's same day.
func CheckSharedLeases(leases []SharedLease) error {
	return checkDays(leases, func(l SharedLease) accountDay { return accountDay{l.Account, l.Day} })
}

type accountDay struct {
	account AccountID
	day     int64
}

func checkDays[L any](leases []L, dayOf func(L) accountDay) error {
	seen := make(map[accountDay]bool, len(leases))
	for _, l := range leases {
		d := dayOf(l)
		if seen[d] {
			return fmt.Errorf("two leases of one call are of %s and day %d", d.account, d.day)
		}
		seen[d] = true
	}
	return nil
}
