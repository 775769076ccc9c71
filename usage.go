package petcat

import (
	"context"
	"time"
)

// UsageCounts is what became of requests. Each request of an account is in Requests, in
// one of the refusals, or in neither: those that charge nothing, and those that failed
// before they could be charged.
type UsageCounts struct {
	Requests      int64 // admitted: charged to the account's quotas
	MinuteRefused int64 // 429 rate_limit_exceeded
	DayRefused    int64 // 429 daily_quota_exceeded
	BanRefused    int64 // 429 key_banned
	KeyRefused    int64 // 401, and 429 too_many_failed_attempts: requests of no account
	Failed        int64 // 5xx responses; may also be in Requests
	Bytes         int64 // of the bodies of all answers, as they were sent
}

// Add adds other counts to c.
func (c *UsageCounts) Add(other UsageCounts) {
	c.Requests += other.Requests
	c.MinuteRefused += other.MinuteRefused
	c.DayRefused += other.DayRefused
	c.BanRefused += other.BanRefused
	c.KeyRefused += other.KeyRefused
	c.Failed += other.Failed
	c.Bytes += other.Bytes
}

// Refused returns how many requests were refused, for any reason.
func (c UsageCounts) Refused() int64 {
	return c.MinuteRefused + c.DayRefused + c.BanRefused + c.KeyRefused
}

// How long the usage history is kept.
const (
	UsageHours = 30 * 24 * time.Hour      // by the hour
	UsageDays  = 2 * 366 * 24 * time.Hour // by the day
)

// UsageStep is the length of the periods of a usage history; the zero value is an hour.
type UsageStep string

// The steps.
const (
	UsageByHour UsageStep = "hour" // of the last 30 days: UsageHours
	UsageByDay  UsageStep = "day"  // of the last two years: UsageDays
)

// Length returns the step's length.
func (s UsageStep) Length() time.Duration {
	if s == UsageByDay {
		return 24 * time.Hour
	}
	return time.Hour
}

// KeptSince returns when the first period begins that is kept at a moment. Both are
// forgotten by the day.
func (s UsageStep) KeptSince(now time.Time) time.Time {
	if s == UsageByDay {
		return s.Floor(now.Add(-UsageDays))
	}
	return UsageByDay.Floor(now.Add(-UsageHours))
}

// Floor returns the beginning of the period that holds a moment, in UTC.
func (s UsageStep) Floor(t time.Time) time.Time { return t.UTC().Truncate(s.Length()) }

// AllAccounts stands for the sum of all accounts, and of the requests of nobody's
// account, where a usage history is asked for.
const AllAccounts AccountID = 0

// UsageQuery chooses a part of the usage history: the periods that begin at From or
// later, and before To. [ParseUsageQuery] makes a valid one.
type UsageQuery struct {
	Account  AccountID // or AllAccounts
	From, To time.Time
	Step     UsageStep
}

// ParseUsageQuery checks a query of the usage by hour or by day. A zero to is now; a zero from
// is a day before to by the hour, and 30 days before it by the day. It returns an [Error] with
// [CodeInvalidField].
func ParseUsageQuery(account AccountID, by UsageStep, from, to, now time.Time) (UsageQuery, error) {
	q, length, further := UsageQuery{Account: account, From: from, To: to, Step: by}, 24*time.Hour, "; days go back further"
	switch by {
	case UsageByHour:
	case UsageByDay:
		length, further = UsageHours, ""
	default:
		return q, Errorf(CodeInvalidField, "by must be day or hour (got %.50q)", by).In("by")
	}
	if to.IsZero() {
		q.To = now
	}
	if from.IsZero() {
		q.From = q.Step.Floor(q.To.Add(-length))
	}
	show := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	if !q.From.Before(q.To) {
		return q, Errorf(CodeInvalidField, "from must be before to (got %s and %s)", show(q.From), show(q.To)).In("from")
	}
	if kept := q.Step.KeptSince(now); q.From.Before(kept) { // a total must not lack them silently
		return q, Errorf(CodeInvalidField, "from must not be before %s (got %s), because earlier %ss are no longer kept%s", show(kept), show(q.From), q.Step, further).In("from")
	}
	return q, nil
}

// UsagePeriod is the usage of one hour or day.
type UsagePeriod struct {
	Begin time.Time
	UsageCounts

	// Incomplete says that a node was killed in the period, so that requests may be
	// missing; see UsageGap.
	Incomplete bool
}

// UsageGap says that a node was killed, and that requests which it answered after From may
// be missing. From is less than a second before its end, or more if it had no requests or
// the store was unavailable. Until is when the kill was noticed. A node that was only cut
// off from the store may have answered requests after that.
type UsageGap struct {
	Node        string
	From, Until time.Time
}

// Meets reports whether something of the period that begins at a moment may be missing.
func (g UsageGap) Meets(begin time.Time, s UsageStep) bool {
	return !g.Until.Before(begin) && g.From.Before(begin.Add(s.Length()))
}

// UsageHistory is the answer to a UsageQuery.
type UsageHistory struct {
	Periods []UsagePeriod // in their order; without those in which nothing was counted
	Gaps    []UsageGap    // those that meet the time asked for, by From ascending
}

// UsageCount is the usage of an account in an hour, as one node counted it.
type UsageCount struct {
	Account AccountID // or AllAccounts
	Hour    int64     // Unix time in hours
	UsageCounts
}

// KeyUse is when a key was last used, in whole seconds.
type KeyUse struct {
	Key KeyID
	At  time.Time
}

// UsageBatch is what one node counted since its last batch. A node repeats a batch,
// with the same number and contents, until it knows that it was written, and writes
// no other before. Its rows are sorted, so that nodes never wait for each other in a circle.
type UsageBatch struct {
	Node     string    // unique: one process
	Number   int64     // from 1, one more for each batch of the node
	SeenAt   time.Time // what the node counted before is in this batch, or in one before it
	Ended    bool      // the node counts nothing any more
	Counts   []UsageCount
	Keys     []KeyUse
	Refusals []Refusal
}

// TopQuery asks for the accounts with the most requests, or refusals, in a range of time: in
// whole hours, and in whole days where [UsageHours] have passed.
type TopQuery struct {
	From, To  time.Time
	ByRefused bool // instead of by requests
	Limit     int  // from 1 to [MaxPage]
}

// AccountUsage is the usage of an account in a range of time.
type AccountUsage struct {
	Account AccountID
	Name    string
	UsageCounts
}

// UsageStore keeps the usage history.
type UsageStore interface {
	// AddUsage adds a batch, once, however often it is called with it. An empty batch
	// says that the node still runs.
	AddUsage(ctx context.Context, b UsageBatch) error
	// Usage returns what was written so far and is still kept. Periods that begin before
	// [UsageStep.KeptSince] may be missing.
	Usage(ctx context.Context, q UsageQuery) (UsageHistory, error)
	// TopAccounts returns the accounts that a TopQuery asks for, the largest first.
	TopAccounts(ctx context.Context, q TopQuery) ([]AccountUsage, error)
	// DayUsed returns how many requests of an account were admitted on a day, as far as
	// they are written. Days are numbered by [Day].Index.
	DayUsed(ctx context.Context, account AccountID, day int64) (int64, error)
	// Refusals returns the newest refusals and failures of an account, newest first,
	// RecentRefusals at most.
	Refusals(ctx context.Context, account AccountID) ([]Refusal, error)
	// FindRefusal returns the refusals or failures of which the last has an X-Request-Id, or an
	// [Error] with [CodeNotFound].
	FindRefusal(ctx context.Context, requestID string) (Refusal, error)
}

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
