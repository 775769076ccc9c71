package petcat

import "time"

// RecentRefusals is how many refusals and failures of an account are shown.
const RecentRefusals = 20

// Refusal stands for requests of an account that were refused with 429, or that failed with
// a status from 500 on: those of one key, operation and code. All but Count and First is of
// the last one.
type Refusal struct {
	Account     AccountID
	Key         KeyID
	Operation   OperationID // "" if there is none at the request's path
	Code        Code
	Count       int64
	First, Last time.Time
	RequestID   string
	Status      int
	// Minute and Day are where the account stood. A window whose limit is 0 is not
	// known: the request failed before that.
	Minute, Day Spent
	// Until is when the window or the ban ended that refused the request; zero for a
	// failure.
	Until time.Time
}

// Spent is how much of a quota was used.
type Spent struct{ Used, Limit int64 }

// RefusedByBan is the [Refusal.Reason] of a banned key.
const RefusedByBan = "ban"

// Reason returns what refused the requests: "minute", "day" or "ban"; "" for failures.
func (r Refusal) Reason() string {
	switch r.Code {
	case CodeRateLimitExceeded:
		return Minute.String()
	case CodeDailyQuotaExceeded:
		return Day.String()
	case CodeKeyBanned:
		return RefusedByBan
	default:
		return ""
	}
}
