package ratelimit

import (
	"time"

	"petcat"
)

// Verdict is what becomes of a request.
type Verdict uint8

// The verdicts. A refused request is charged to no window.
const (
	Admitted    Verdict = iota
	MinuteSpent         // the minute's quota is used up; the day's is not
	DaySpent            // the day's quota is used up
	Banned              // the key is banned
)

// Usage is what an account has used of its quota at one moment.
type Usage struct {
	petcat.QuotaCount // its clock is the one that decided

	Quota petcat.Quota
}

// WindowState is the state of one window of an account.
type WindowState struct {
	Limit     int64
	Remaining int64 // from 0 to Limit
	Reset     int64 // Unix second at which the window ends; always after Usage.Now
}

// Used returns how much of the window is used.
func (s WindowState) Used() int64 { return s.Limit - s.Remaining }

// SecondsLeft returns how long after now (nanoseconds since the Unix epoch) the window
// ends, in whole seconds, rounded up, at least 1.
func (s WindowState) SecondsLeft(now int64) int64 { return max(1, s.Reset-now/int64(time.Second)) }

// Decision is the answer to a [Charge]. All of it describes one moment.
type Decision struct {
	Usage // after the request

	Verdict     Verdict
	Minute, Day WindowState
	// Effective is what X-RateLimit-Limit, -Remaining and -Reset show: the most
	// restrictive window, or the end of the ban, whichever refuses for longer.
	Effective WindowState
	// RetryAfter is in whole seconds, at least 1, and never earlier than
	// Effective.Reset; 0 when the request was admitted.
	RetryAfter int64
	// Warn says that EarlyRetriesLeft more early retries are tolerated, and the next one
	// bans the key. It is never set where bans are not enforced.
	Warn             bool
	EarlyRetriesLeft int64
	// BanEnds is the Unix second at which the key's ban ends; 0: it is not banned.
	BanEnds int64
}

// Verdict says what becomes of a request that arrives now. When both windows
// refuse, the day does: its reset is the later one, or it is the longer window.
func (u Usage) Verdict() Verdict {
	switch {
	case u.DayUsed >= u.Quota.PerDay:
		return DaySpent
	case u.MinuteUsed >= u.Quota.PerMinute:
		return MinuteSpent
	default:
		return Admitted
	}
}

// Answer describes the usage to the caller: u is as it is after the request. Admitted
// requests are shown the window with the least left; on a tie the longer one, which takes
// longer to refill.
func (u Usage) Answer(v Verdict, key petcat.KeyID) Decision {
	d := Decision{
		Usage: u, Verdict: v,
		Minute: state(u.Quota.PerMinute, u.MinuteUsed, petcat.Minute.Reset(minuteOf(u.Now))),
		Day:    state(u.Quota.PerDay, u.DayUsed, petcat.Day.Reset(dayOf(u.Now))),
	}
	switch {
	case v == MinuteSpent:
		d.Effective, d.RetryAfter = d.Minute, retryAfter(u.Now, d.Minute.Reset)
	case v == DaySpent:
		d.Effective, d.RetryAfter = d.Day, retryAfter(u.Now, d.Day.Reset)+dayJitter(key, dayOf(u.Now))
	case d.Minute.Remaining < d.Day.Remaining:
		d.Effective = d.Minute
	default:
		d.Effective = d.Day
	}
	return d
}

func state(limit, used, reset int64) WindowState {
	return WindowState{Limit: limit, Remaining: max(0, limit-used), Reset: reset}
}

// At describes an admitted request to a caller who is answered at a later moment (now, in
// nanoseconds, by the clock that decided): seconds have passed, and of a window that began
// since, the request has used nothing.
func (d Decision) At(now int64) Decision {
	u, now := d.Usage, max(now, d.Now)
	if minuteOf(now) != minuteOf(u.Now) {
		u.MinuteUsed = 0
	}
	if dayOf(now) != dayOf(u.Now) {
		u.DayUsed = 0
	}
	u.Now = now
	return u.Answer(Admitted, 0)
}

// Banned describes a ban's end (a whole Unix second) to the caller, or the end of a window
// that is spent, if that is no earlier: a client that returns then is not refused once
// more. The limit shown with a ban's end is the minute's, for want of one that fits a ban.
func (u Usage) Banned(end int64, key petcat.KeyID) Decision {
	d := u.Answer(u.Verdict(), key)
	if d.Verdict == Admitted || d.Effective.Reset < end {
		d.Effective = state(u.Quota.PerMinute, u.Quota.PerMinute, end)
		d.RetryAfter = retryAfter(u.Now, end)
	}
	d.Verdict, d.BanEnds = Banned, end
	return d
}

// maxDayJitter is in seconds. All days end at the same instant; without it all
// clients that wait for the end would come back in the same second.
const maxDayJitter = 60

// dayJitter returns how many seconds later than the day's end a key is asked to
// come back. It is a hash, not a random number, so that a key gets the same
// moment however often it asks, on every node.
func dayJitter(key petcat.KeyID, day int64) int64 {
	// The finaliser of splitmix64: neighbouring keys land far apart.
	x := uint64(key)*0x9e3779b97f4a7c15 + uint64(day)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int64((x ^ x>>31) % (maxDayJitter + 1))
}

// retryAfter returns the seconds from now (nanoseconds) to a Unix second, rounded up from
// 50 ms more: the clock of a caller may run fast.
func retryAfter(now, unix int64) int64 {
	return max(1, unix-(now-int64(50*time.Millisecond))/int64(time.Second))
}

func minuteOf(now int64) int64 { return now / int64(petcat.Minute.Length()) }

func dayOf(now int64) int64 { return now / int64(petcat.Day.Length()) }
