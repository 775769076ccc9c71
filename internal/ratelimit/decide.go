package ratelimit

import (
	"time"

	"github.com/petcat-api/petcat"
)

// Outcome is the outcome of a request.
type Outcome uint8

// The outcomes. A rejected request is not charged to any window.
const (
	Allowed     Outcome = iota
	MinuteSpent         // only the minute quota is used up
	DaySpent            // the daily quota is used up
	Banned              // the key is banned
)

// Usage is the usage of an account's quota at one moment.
type Usage struct {
	petcat.QuotaCount // Now is by the clock that decided

	Quota petcat.Quota
}

// WindowState is the state of one window of an account.
type WindowState struct {
	Limit int64
	Used  int64 // may exceed Limit, after a plan change or an outage
	Reset int64 // Unix time at which the window resets; always after Usage.Now
}

// Remaining returns the unused part of the quota.
func (s WindowState) Remaining() int64 { return max(0, s.Limit-s.Used) }

// SecondsLeft returns the time from now (nanoseconds since the Unix epoch) until the window resets, in
// seconds, rounded up, at least 1.
func (s WindowState) SecondsLeft(now int64) int64 { return max(1, s.Reset-now/int64(time.Second)) }

// Decision is the result of a [Charge]. All fields describe one moment.
type Decision struct {
	Usage // after the request

	Outcome     Outcome
	Minute, Day WindowState
	// Effective is the state in X-RateLimit-Limit, -Remaining and -Reset: of the most
	// restrictive window, or of the ban if it ends later. Its limit is the quota of Window.
	Effective WindowState
	Window    petcat.Window
	// RetryAfter is in seconds, at least 1, and never earlier than Effective.Reset; 0 if the
	// request was allowed.
	RetryAfter int64
	// Warn is true if the key will be banned after EarlyRetriesLeft more early retries. It is
	// false if bans are not enforced.
	Warn             bool
	EarlyRetriesLeft int64
	// BanEnds is the Unix time when the key's ban ends; 0 without a ban.
	BanEnds int64
	// SpentBeyondBan is true if the key is banned, and a used-up quota resets when the ban ends or later.
	// Effective is that quota's window.
	SpentBeyondBan bool
}

// NextOutcome returns the outcome of a request that arrives now. If both quotas are used up, the daily
// quota counts, because its window resets later or is longer.
func (u Usage) NextOutcome() Outcome {
	switch {
	case u.DayUsed >= u.Quota.PerDay:
		return DaySpent
	case u.MinuteUsed >= u.Quota.PerMinute:
		return MinuteSpent
	default:
		return Allowed
	}
}

// Decide returns the decision for a request; u is the usage after the request. For an allowed
// request, the effective window is the one with the fewest remaining requests, and the day if
// both have the same.
func (u Usage) Decide(o Outcome, key petcat.KeyID) Decision {
	d := Decision{
		Usage:   u,
		Outcome: o,
		Minute: WindowState{
			Limit: u.Quota.PerMinute,
			Used:  u.MinuteUsed,
			Reset: petcat.Minute.Reset(minuteOf(u.Now)),
		},
		Day: WindowState{
			Limit: u.Quota.PerDay,
			Used:  u.DayUsed,
			Reset: petcat.Day.Reset(dayOf(u.Now)),
		},
	}
	switch {
	case o == MinuteSpent:
		d.Window, d.Effective = petcat.Minute, d.Minute
		d.RetryAfter = retryAfter(u.Now, d.Minute.Reset)
	case o == DaySpent:
		d.Window, d.Effective = petcat.Day, d.Day
		d.RetryAfter = retryAfter(u.Now, d.Day.Reset) + dayJitter(key, dayOf(u.Now))
	case d.Minute.Remaining() < d.Day.Remaining():
		d.Window, d.Effective = petcat.Minute, d.Minute
	default:
		d.Window, d.Effective = petcat.Day, d.Day
	}
	return d
}

// At returns the decision on an allowed request for a response at a later time (now, in
// nanoseconds, by the clock that decided). A window that began since then is unused.
func (d Decision) At(now int64) Decision {
	u, now := d.Usage, max(now, d.Now)
	if minuteOf(now) != minuteOf(u.Now) {
		u.MinuteUsed = 0
	}
	if dayOf(now) != dayOf(u.Now) {
		u.DayUsed = 0
	}
	u.Now = now
	return u.Decide(Allowed, 0)
}

// Banned returns the decision for a request of a key that is banned until end (Unix time). If the window
// of a used-up quota does not reset before the ban ends, that window is effective, so that a client that
// waits is not rejected again. The limit shown for a ban is the minute quota.
func (u Usage) Banned(end int64, key petcat.KeyID) Decision {
	d := u.Decide(u.NextOutcome(), key)
	d.SpentBeyondBan = d.Outcome != Allowed && d.Effective.Reset >= end
	if !d.SpentBeyondBan {
		d.Window = petcat.Minute
		d.Effective = WindowState{
			Limit: u.Quota.PerMinute,
			Used:  u.Quota.PerMinute,
			Reset: end,
		}
		d.RetryAfter = retryAfter(u.Now, end)
	}
	d.Outcome = Banned
	d.BanEnds = end
	return d
}

// maxDayJitter is in seconds. All daily quotas reset at the same instant: without jitter, all waiting
// clients would return in the same second.
const maxDayJitter = 60

// dayJitter returns a key's delay after the end of the day, in seconds. It is a hash, so
// that a key always gets the same delay, on every node.
func dayJitter(key petcat.KeyID, day int64) int64 {
	// The finalizer of splitmix64 spreads consecutive keys.
	x := uint64(key)*0x9e3779b97f4a7c15 + uint64(day)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int64((x ^ x>>31) % (maxDayJitter + 1))
}

// retryAfter returns the time from now (nanoseconds) to a Unix time, in seconds, rounded up after
// adding 50 ms, because a client's clock may run fast.
func retryAfter(now, unix int64) int64 {
	return max(1, unix-(now-int64(50*time.Millisecond))/int64(time.Second))
}

func minuteOf(now int64) int64 { return now / int64(petcat.Minute.Length()) }

func dayOf(now int64) int64 { return now / int64(petcat.Day.Length()) }
