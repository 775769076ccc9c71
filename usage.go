package petcat

import (
	"context"
	"time"
)

// UsageCounts are counts of requests by outcome. Each request of an account is in Requests or in
// one of the rejections, unless it was free, or failed before it was charged. A request with a key
// that was rejected belongs to the key's account, if there is such a key.
type UsageCounts struct {
	Requests       int64 // allowed: charged to the account's quotas
	MinuteRejected int64 // 429 rate_limit_exceeded
	DayRejected    int64 // 429 daily_quota_exceeded
	BanRejected    int64 // 429 key_banned
	KeyRejected    int64 // 401, 403 address_not_allowed, and 429 too_many_failed_attempts
	Failed         int64 // 5xx responses; may also be in Requests
	Bytes          int64 // of all response bodies, as sent
}

// Add adds other counts to c.
func (c *UsageCounts) Add(other UsageCounts) {
	c.Requests += other.Requests
	c.MinuteRejected += other.MinuteRejected
	c.DayRejected += other.DayRejected
	c.BanRejected += other.BanRejected
	c.KeyRejected += other.KeyRejected
	c.Failed += other.Failed
	c.Bytes += other.Bytes
}

// Rejected returns the number of rejected requests.
func (c UsageCounts) Rejected() int64 {
	return c.MinuteRejected + c.DayRejected + c.BanRejected + c.KeyRejected
}

// Retention of the usage history.
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

// KeptSince returns the beginning of the first period that is kept at now. Hours and days are
// deleted by the day.
func (s UsageStep) KeptSince(now time.Time) time.Time {
	if s == UsageByDay {
		return s.Floor(now.Add(-UsageDays))
	}
	return UsageByDay.Floor(now.Add(-UsageHours))
}

// Floor returns the beginning of the period that contains a time, in UTC.
func (s UsageStep) Floor(t time.Time) time.Time { return t.UTC().Truncate(s.Length()) }

// AllAccounts selects the usage of all accounts together, including requests without an account.
const AllAccounts AccountID = 0

// UsageQuery selects a part of the usage history: the periods that begin at From or later, and
// before To. [ParseUsageQuery] makes a valid one.
type UsageQuery struct {
	Account  AccountID // or AllAccounts
	From, To time.Time
	Step     UsageStep
	Group    UsageGroup // only for UsageParts; [UsageQuery.GroupBy] sets it
}

// ParseUsageQuery validates a query. A zero to means now; a zero from means one day before to
// for hours, and 30 days before it for days. It returns an [Error] with [CodeInvalidField].
func ParseUsageQuery(account AccountID, by UsageStep, from, to, now time.Time) (UsageQuery, error) {
	q := UsageQuery{
		Account: account,
		From:    from,
		To:      to,
		Step:    by,
	}
	length, further := 24*time.Hour, "; days go back further"
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
		return q, Errorf(CodeInvalidField,
			"from must be before to (got %s and %s)", show(q.From), show(q.To)).In("from")
	}
	if kept := q.Step.KeptSince(now); q.From.Before(kept) { // otherwise, a total would silently be too low
		return q, Errorf(CodeInvalidField,
			"from must not be before %s (got %s), because earlier %ss are no longer kept%s",
			show(kept), show(q.From), q.Step, further).In("from")
	}
	return q, nil
}

// UsagePeriod is the usage of one hour or day.
type UsagePeriod struct {
	Begin time.Time
	UsageCounts

	// Incomplete is true if requests of the period may be missing; see UsageGap.
	Incomplete bool
}

// UsageGap is a gap in the history because a node was killed, or because a failover or a restore
// lost batches of the node: its requests after From may be missing.
//
// From is about a second before a kill, or more if the node was idle or the store was unavailable. At
// Until, the kill was detected. A node that was only cut off from the store may have served requests
// after that. Lost batches are from before Until.
type UsageGap struct {
	Node        string // of lost batches: with / and the number of the last batch that was kept
	From, Until time.Time
}

// Meets reports whether the gap overlaps the period that begins at a time.
func (g UsageGap) Meets(begin time.Time, s UsageStep) bool {
	return !g.Until.Before(begin) && g.From.Before(begin.Add(s.Length()))
}

// UsageHistory is the result of a UsageQuery.
type UsageHistory struct {
	Periods []UsagePeriod // in order, without empty ones
	Gaps    []UsageGap    // those that overlap the query, by ascending From
}

// UsageCount is the usage of an account in an hour, as one node counted it.
type UsageCount struct {
	Account AccountID // or AllAccounts
	Hour    int64     // Unix time in hours
	UsageCounts

	// Detail divides the requests, rejections and failures of the account by key and operation,
	// sorted by both. It is empty for AllAccounts, and if the node does not count it.
	Detail []UsageDetail
}

// KeyUse is the last use of a key, in whole seconds.
type KeyUse struct {
	Key KeyID
	At  time.Time
}

// UsageBatch has the counts of one node since its last batch. A node retries a batch, with the
// same number and contents, until it is acknowledged, before it writes the next one. Its rows
// are sorted, so that nodes cannot deadlock.
type UsageBatch struct {
	Node       string    // unique to a process
	Number     int64     // of the node's batches, from 1
	SeenAt     time.Time // earlier counts of the node are in this batch or an earlier one
	Stopped    bool      // this is the node's last batch
	Counts     []UsageCount
	Keys       []KeyUse
	Rejections []Rejection
}

// TopQuery selects the accounts with the most requests, or rejections, in a time range: whole
// hours, or whole days if it is older than [UsageHours].
type TopQuery struct {
	From, To   time.Time
	ByRejected bool // instead of by requests
	Limit      int  // from 1 to [MaxPage]
}

// AccountUsage is the usage of an account in a range of time.
type AccountUsage struct {
	Account AccountID
	Name    string
	UsageCounts
}

// UsageStore keeps the usage history.
type UsageStore interface {
	// AddUsage adds a batch. Adding the same batch again has no effect. An empty batch
	// reports that the node is running.
	AddUsage(ctx context.Context, b UsageBatch) error
	// Usage returns the stored usage. Periods that begin before [UsageStep.KeptSince] may be
	// missing.
	Usage(ctx context.Context, q UsageQuery) (UsageHistory, error)
	// UsageParts returns the stored usage of an account by the group of the query, in order of the
	// periods, without empty ones.
	UsageParts(ctx context.Context, q UsageQuery) ([]UsagePart, error)
	// OperationUsage returns the stored usage of all accounts by operation in the hour that begins
	// at a time, sorted by account and operation.
	OperationUsage(ctx context.Context, hour time.Time) ([]OperationUsage, error)
	// UsageStoredUntil returns the time before which all nodes that run have stored their counts.
	UsageStoredUntil(ctx context.Context) (time.Time, error)
	// TopAccounts returns the accounts that a TopQuery selects, largest first.
	TopAccounts(ctx context.Context, q TopQuery) ([]AccountUsage, error)
	// DayUsed returns the stored number of allowed requests of an account on a day. Days
	// are numbered by [Day].Index.
	DayUsed(ctx context.Context, account AccountID, day int64) (int64, error)
	// Rejections returns the newest rejections and failures of an account, newest first,
	// RecentRejections at most.
	Rejections(ctx context.Context, account AccountID) ([]Rejection, error)
	// FindRejection returns the Rejection with the RequestID, or an [Error] with [CodeNotFound].
	FindRejection(ctx context.Context, requestID string) (Rejection, error)
}
