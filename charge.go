package petcat

import "context"

// QuotaCharge asks for one request of an account to be admitted within a quota. With
// a zero Quota.PerMinute nothing is admitted, and the answer tells what is used.
type QuotaCharge struct {
	Account AccountID
	Quota   Quota
}

// QuotaCount is the answer to a QuotaCharge.
type QuotaCount struct {
	Now                 int64 // the store's clock, nanoseconds since the Unix epoch
	Admitted            bool
	MinuteUsed, DayUsed int64 // after the charge
	// Newest is the store's newest revision that was committed when the call arrived; 0:
	// the store was not asked.
	Newest Revision
}

// QuotaStore counts the requests of all nodes.
type QuotaStore interface {
	// Charge decides charges one after the other, each in one atomic step: to both windows
	// of its account or to neither. They must be in ascending order of their accounts. The
	// answers are in the same order. After an error, any of the charges may have been made.
	Charge(ctx context.Context, charges []QuotaCharge) ([]QuotaCount, error)
}
