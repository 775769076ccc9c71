package petcat

import (
	"context"
	"time"
)

// RecentRefusals is how many refusals and failures are kept of each account.
const RecentRefusals = 20

// Refusal is a request of an account that was refused with 429, or that failed with a
// status from 500 on.
type Refusal struct {
	At        time.Time
	RequestID string
	Key       KeyID
	Operation OperationID // "" if there is none at the request's path
	Status    int
	Code      Code
	// Minute and Day are where the account stood. A window whose limit is 0 is not
	// known: the request failed before that.
	Minute, Day Spent
	// ByShare says that the node decided by its share of the minute, because the nodes
	// could not count together. How much of the minute they used is not known then:
	// Minute.Used is 0.
	ByShare bool
	// Until is when the window or the ban ended that refused the request; zero for a
	// failure.
	Until time.Time
}

// Spent is how much of a quota was used.
type Spent struct{ Used, Limit int64 }

// What refuses requests besides windows; see [Refusal.Reason].
const (
	RefusedByShare = "share" // the rest of the minute's quota was kept for other nodes
	RefusedByBan   = "ban"
)

// Reason returns what refused the request: "minute", "share", "day" or "ban"; "" for a
// failure.
func (r Refusal) Reason() string {
	switch r.Code {
	case CodeRateLimitExceeded:
		if r.ByShare {
			return RefusedByShare
		}
		return Minute.String()
	case CodeDailyQuotaExceeded:
		return Day.String()
	case CodeKeyBanned:
		return RefusedByBan
	default:
		return ""
	}
}

// AccountRefusals are some refusals of one account.
type AccountRefusals struct {
	Account  AccountID
	Refusals []Refusal // newest first, RecentRefusals at most
}

// RefusalStore keeps the last refusals and failures of each account, of all nodes.
type RefusalStore interface {
	// AddRefusals adds to what is kept. An account must not be twice in it. Adding a
	// refusal again, by the same request id and moment, changes nothing.
	AddRefusals(ctx context.Context, refusals []AccountRefusals) error
	// Refusals returns what is kept of an account, newest first.
	Refusals(ctx context.Context, account AccountID) ([]Refusal, error)
}
