package petcat

import "context"

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

// DayStore keeps how much of each account's day is used or leased.
type DayStore interface {
	// LeaseDays grants leases durably: the answers are in the order of the
	// questions. The counts of a day never pass the quota that came with the
	// lease.
	LeaseDays(ctx context.Context, leases []DayLease) ([]DayLeased, error)
	// ReturnDays gives unused requests back.
	ReturnDays(ctx context.Context, returns []DayReturn) error
	// DayCount returns how much is used or leased.
	DayCount(ctx context.Context, account AccountID, day int64) (int64, error)
}
