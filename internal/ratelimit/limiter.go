package ratelimit

import (
	"context"

	"petcat"
)

// Charge is one authenticated request that asks to be admitted.
type Charge struct {
	Account petcat.AccountID
	Key     petcat.KeyID
	Quota   petcat.Quota // the account's, as it is now
	// DayOnly charges the day alone: the minute is counted elsewhere.
	DayOnly bool

	peek bool // charge nothing; see Limiter.Peek
}

// Verdict is what becomes of a request.
type Verdict uint8

// The verdicts. A refused request is charged to no window.
const (
	Admitted    Verdict = iota
	MinuteSpent         // the minute's quota is used up; the day's is not
	DaySpent            // the day's quota is used up
	Banned              // the key is banned
)

// WindowState is the state of one window of an account after a request.
type WindowState struct {
	Limit     int64
	Remaining int64 // from 0 to Limit
	Reset     int64 // Unix second at which the window ends; always after Decision.Now
}

// SecondsLeft returns how long after now (nanoseconds since the Unix epoch) the window
// ends, in whole seconds, rounded up, at least 1: a client that waits that long is never early.
func (s WindowState) SecondsLeft(now int64) int64 { return secondsUntil(now, s.Reset) }

// Decision is the answer to a [Charge]. All of it describes one moment.
type Decision struct {
	Verdict Verdict
	// Now is the limiter's time in nanoseconds since the Unix epoch. It never
	// runs backwards.
	Now         int64
	Minute, Day WindowState
	// Effective is what X-RateLimit-Limit, -Remaining and -Reset show: the most
	// restrictive window, or the end of the ban, whichever refuses for longer.
	Effective WindowState
	// RetryAfter is in whole seconds, at least 1, and never earlier than
	// Effective.Reset; 0 when the request was admitted.
	RetryAfter int64
	// ByShare says that the node decided by its share of the minute, because the nodes
	// cannot count together at the moment: Minute.Remaining is what is left of the share.
	// If the minute refuses, the quota is not used up, and the rest of it is kept for other
	// nodes.
	ByShare bool
	// Warn says that EarlyRetriesLeft is to be told: so many more early retries
	// are tolerated, and the next one bans the key. It is never set where bans are
	// not enforced.
	Warn             bool
	EarlyRetriesLeft int64
	// BanEnds is the Unix second at which the key's ban ends; 0: it is not banned.
	BanEnds int64
}

// Limiter decides who is admitted. Implementations are safe for concurrent use
// and pass the suite in package limittest.
type Limiter interface {
	// Spend charges a request to both windows or to neither, in one atomic
	// step: of N parallel requests against a limit of L it admits exactly
	// min(N, L). It returns an error, with [petcat.CodeServiceUnavailable], only
	// when it cannot know how much is left; the request is then neither admitted
	// nor charged.
	Spend(ctx context.Context, c Charge) (Decision, error)

	// Peek tells where an account and its key stand, and charges nothing: the verdict
	// is that of a request that would come now. Its error is that of Spend.
	Peek(ctx context.Context, c Charge) (Decision, error)

	// ApplyBan makes a ban that was imposed, lifted or loaded elsewhere hold
	// here.
	ApplyBan(b petcat.Ban)

	// Close gives back what was leased and not used. No Spend may follow.
	Close(ctx context.Context) error
}
