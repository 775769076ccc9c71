package petcat

import "time"

// RecentRejections is the maximum number of rejections and failures of an account.
const RecentRejections = 20

// Rejection summarises the requests of one key, operation and code that were rejected because of the
// quotas, a ban or the key itself, or that failed with a status of 500 or more. All fields but Count and
// First describe the last one.
type Rejection struct {
	Account     AccountID
	Key         KeyID
	Operation   OperationID // "" if the path has none
	Code        Code
	Count       int64
	First, Last time.Time
	RequestID   string
	Status      int
	// Minute and Day are the account's used quotas. If the limit is 0, they are unknown,
	// because the request failed before.
	Minute, Day QuotaUsage
	// Until is the end of the window or ban that rejected the request; zero for a failure.
	Until time.Time
}

// QuotaUsage is the used part of a quota.
type QuotaUsage struct{ Used, Limit int64 }
