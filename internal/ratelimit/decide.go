package ratelimit

import (
	"time"

	"petcat"
)

const nanosPerSecond = int64(time.Second)

// Usage is what an account has used of its quota at one moment. The functions
// of this file are pure: every limiter answers alike because it answers by them.
type Usage struct {
	Now        int64 // the limiter's clock, nanoseconds
	Quota      petcat.Quota
	Part       Part
	MinuteUsed int64
	DayUsed    int64
}

// Part is how much of a minute's quota is to be had from one limiter: less than
// all of it while several cannot count together and each enforces its share.
// The zero Part is all of it.
type Part struct {
	limited bool
	most    int64
}

// PartOf returns a part of at most n requests.
func PartOf(n int64) Part { return Part{limited: true, most: max(0, n)} }

// Of returns how many requests of a minute's quota the part admits.
func (p Part) Of(perMinute int64) int64 {
	if p.limited {
		return min(p.most, perMinute)
	}
	return perMinute
}

// Verdict says what becomes of a request that arrives now. When both windows
// refuse, the day does: its reset is the later one, or it is the longer window.
func (u Usage) Verdict() Verdict {
	switch {
	case u.DayUsed >= u.Quota.PerDay:
		return DaySpent
	case u.MinuteUsed >= u.Part.Of(u.Quota.PerMinute):
		return MinuteSpent
	default:
		return Admitted
	}
}

// state returns the state of one window.
func (u Usage) state(w petcat.Window) WindowState {
	limit := u.Quota.In(w)
	left := limit - u.DayUsed
	if w == petcat.Minute {
		left = u.Part.Of(limit) - u.MinuteUsed
	}
	return WindowState{
		Limit:     limit,
		Remaining: max(0, left),
		Reset:     w.Reset(w.Index(unixOf(u.Now))),
	}
}

// Answer describes the usage to the caller: u is as it is after the request.
func (u Usage) Answer(v Verdict, key petcat.KeyID) Decision {
	d := Decision{Verdict: v, Now: u.Now, Minute: u.state(petcat.Minute), Day: u.state(petcat.Day), ByShare: u.Part.limited}
	switch v {
	case MinuteSpent:
		d.Effective = d.Minute
		d.RetryAfter = secondsUntil(u.Now, d.Minute.Reset)
	case DaySpent:
		d.Effective = d.Day
		d.RetryAfter = secondsUntil(u.Now, d.Day.Reset) + dayJitter(key, petcat.Day.Index(unixOf(u.Now)))
	default:
		d.Effective = d.tighter()
	}
	return d
}

// tighter returns the window with the least left, of windows that allow; on a tie
// the longer one, which takes longer to refill.
func (d Decision) tighter() WindowState {
	if d.Minute.Remaining < d.Day.Remaining {
		return d.Minute
	}
	return d.Day
}

// At describes an admitted request to a caller who is told at a later moment (now,
// nanoseconds on the limiter's clock): seconds have passed, and of a window that
// began meanwhile this request has used nothing.
func (d Decision) At(now int64) Decision {
	if now <= d.Now {
		return d
	}
	d.Now = now
	d.Minute, d.Day = d.Minute.at(petcat.Minute, now), d.Day.at(petcat.Day, now)
	d.Effective = d.tighter()
	return d
}

func (s WindowState) at(w petcat.Window, now int64) WindowState {
	if second := unixOf(now); s.Reset <= second {
		s.Remaining, s.Reset = s.Limit, w.Reset(w.Index(second))
	}
	return s
}

// Banned describes a ban's end (a whole Unix second, after now) to the caller,
// or the end of a window that is spent, if that is no earlier: a client that comes back
// then is not refused once more. The limit shown with a ban's end is the minute's, for
// want of one that fits a ban.
func (u Usage) Banned(end int64, key petcat.KeyID) Decision {
	d := u.Answer(u.Verdict(), key)
	if d.Verdict == Admitted || d.Effective.Reset < end {
		d.Effective = WindowState{Limit: u.Quota.PerMinute, Remaining: 0, Reset: end}
		d.RetryAfter = secondsUntil(u.Now, end)
	}
	d.Verdict, d.BanEnds = Banned, end
	return d
}

// maxDayJitter is in seconds. All days end at the same instant; without it all
// clients that wait for the end would come back in the same second.
const maxDayJitter = 60

// dayJitter returns how many seconds later than the day's end a key is asked to
// come back. It is a hash, not a random number, so that a key is told the same
// moment however often it asks, on every node.
func dayJitter(key petcat.KeyID, day int64) int64 {
	// The finaliser of splitmix64: neighbouring keys land far apart.
	x := uint64(key)*0x9e3779b97f4a7c15 + uint64(day)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int64((x ^ x>>31) % (maxDayJitter + 1))
}

// secondsUntil returns the whole seconds from now (nanoseconds) to a Unix
// second, rounded up, at least 1: a client that waits that long is never early.
func secondsUntil(now, unix int64) int64 {
	return max(1, unix-unixOf(now))
}

// unixOf returns the Unix second that holds a moment, rounded down.
func unixOf(now int64) int64 {
	s := now / nanosPerSecond
	if now%nanosPerSecond < 0 {
		s--
	}
	return s
}
