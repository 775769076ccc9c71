package clusterlimit

import (
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// account is what a node knows of an account: what the counters told last, and its
// own budget, from which it admits while the counters are unavailable or not to be trusted
// alone. There may be a million of them: some 150 bytes each, with their places in the map. The methods are pure: they
// know no clock, no lock and no network.
type account struct {
	minute int64 // index of the minute that the following is of
	seen   int64 // the most that the counters told to be used
	// The budget is set once a minute, when it is first needed, and never renewed.
	budget      int64
	quota       int64 // of which the budget is a part; 0: none is set
	spent       int64 // of the budget
	unreported  int64 // of spent: what was not reported to the counters yet
	minuteKnown bool  // the counters answered in the minute
	peeked      bool  // they were asked where a banned key's account stands
	dayKnown    bool
	dayUnsure   bool  // dayUsed may be too much, see [counters.Day.Unsure]
	ahead       bool  // a block of the day after it was asked for
	day         int64 // index of the day that the following is of
	dayUsed     int64 // as the counters, the store or this node's own leases told last
	dayLocal    int64 // as this node's own leases tell, if the counters are to be told
	dayAsked    int64 // when the day's use was last asked for since it was spent, nanoseconds of the counters' clock
	series      int64 // of the day's grants
	perDay      int64 // the quota, as the last request knew it
}

// view is what the decision of one request depends on beside its account.
type view struct {
	state

	mono    int64 // monotonic clock
	now     int64 // the counters' clock, as this node knows it
	suspect bool  // the counters may lack something: this node's budget must agree
	members *Membership
	room    int64 // to be left to nodes that are cut off
}

// newView returns a view of a partition at a moment, for a quota of the minute.
func newView(s state, m *Membership, partition int, mono, now, perMinute int64) view {
	v := view{state: s, mono: mono, now: now, suspect: s.suspect(mono, now, m), members: m}
	if s.mode == closed {
		v.room = m.room(partition, perMinute, v.began(), mono)
	}
	return v
}

// began returns when the minute began, by the monotonic clock.
func (v view) began() int64 { return v.mono - v.now%int64(time.Minute) }

// share returns of what the budget is set. A closed partition may need one, too: its
// call was late, and it has answered since.
func (v view) share() share { return v.members.own(v.began()) }

// way is how a request is to be decided.
type way uint8

const (
	refuse        way = iota // the whole quota is spent
	refuseByShare            // this node's budget is spent
	ask                      // by the counters
	askWithin                // by the counters, and one of the budget was taken for it
	admitLocally             // one of the budget was taken for it; the day is to be charged
)

// rollOver makes the account one of the minute that it is now. When the counters' clock
// was set back, the minute that is known is called by the one that it is now; what was
// seen of it is asked for again, because it may be a later minute than they know.
func (a *account) rollOver(now int64) {
	minute := minuteOf(now)
	switch {
	case minute > a.minute:
		a.minuteKnown, a.peeked, a.seen, a.budget, a.quota, a.spent, a.unreported = false, false, 0, 0, 0, 0, 0
	case minute < a.minute:
		a.minuteKnown, a.seen = false, 0
	}
	a.minute = minute
	if day := dayOf(now); a.day != day {
		// Of the next day nothing is used.
		a.dayKnown, a.ahead = a.dayKnown && day == a.day+1, false
		a.day, a.dayUsed, a.dayUnsure, a.dayLocal, a.dayAsked = day, 0, false, 0, 0
	}
}

// dayRecheck is how often the counters are asked again whether a day that is spent
// still is: others may have given something back.
const dayRecheck = 15 * time.Second

// way returns how a request is to be decided, and takes what it needs of the budget.
func (a *account) way(v view, q petcat.Quota) way {
	a.rollOver(v.now)
	a.perDay = q.PerDay
	if a.dayKnown && !a.dayUnsure && a.dayUsed >= q.PerDay {
		if v.mode != closed || v.now-a.dayAsked < int64(dayRecheck) {
			return refuse
		}
		a.dayAsked = v.now
	}
	endsSoon := (a.minute+1)*int64(time.Minute)-v.now < int64(askAgainBefore)
	if a.seen >= q.PerMinute && (v.mode != closed || !endsSoon) {
		return refuse
	}
	switch {
	case v.mode == closed && !v.suspect:
		return ask
	case !a.take(v, q.PerMinute):
		return refuseByShare
	case v.mode == open:
		a.unreported++
		return admitLocally
	default:
		return askWithin
	}
}

// askAgainBefore is how long before a minute's end a spent quota is no longer
// remembered: this node's idea of the counters' clock may be late.
const askAgainBefore = 100 * time.Millisecond

// take takes one of the budget, if there is one.
func (a *account) take(v view, perMinute int64) bool {
	if a.left(v, perMinute) <= 0 {
		return false
	}
	a.spent++
	return true
}

// left returns what is left of the budget, which it sets if need be.
func (a *account) left(v view, perMinute int64) int64 {
	switch {
	case a.quota == 0:
		a.budget, a.quota = v.share().of(max(0, perMinute-a.seen)), perMinute
		if !a.minuteKnown {
			// Nothing is known of this minute, in which others may have used much.
			left := v.leftAtLoss(v.mono, v.now)
			a.budget = (a.budget*(left/int64(time.Millisecond)) + 59_999) / 60_000
		}
	case a.quota != perMinute: // the plan changed
		share := v.share()
		a.budget += share.of(perMinute) - share.of(a.quota)
		a.quota = perMinute
	}
	return a.budget - a.spent
}

// counted takes note of a request that the counters alone admitted. It comes out of a
// budget that is set already: were they lost once more in this minute, it would be
// admitted again.
func (a *account) counted(now int64) {
	if a.quota != 0 && a.minute == minuteOf(now) {
		a.spent++
	}
}

// spendLocally turns a request that the counters did not decide into one that this node
// decides. Taken is the minute of whose budget one was taken for it, or 0. Unknown says
// that the counters may have counted it: what was admitted then is never told to them.
func (a *account) spendLocally(v view, perMinute, taken int64, unknown bool) (admitted bool) {
	a.rollOver(v.now)
	if taken != a.minute && !a.take(v, perMinute) {
		return false
	}
	if !unknown {
		a.unreported++
	}
	return true
}

// release gives back what was taken of a minute's budget for a request that was
// refused. Unreported says that it was counted as admitted by this node.
func (a *account) release(minute int64, unreported bool) {
	if a.minute != minute {
		return
	}
	a.spent = max(0, a.spent-1)
	if unreported {
		a.unreported = max(0, a.unreported-1)
	}
}

// report puts what the counters are to be told into a charge. What was admitted is
// forgotten: a report whose outcome is not known is not made again. The day's use can be
// told twice.
func (a *account) report(c *counters.Charge) {
	c.Minute, c.Reported, c.DayUsed = a.minute, a.unreported, a.dayLocal
	a.unreported = 0
}

// unreport takes a report back that certainly was not made.
func (a *account) unreport(c counters.Charge) {
	if a.minute == c.Minute {
		a.unreported += c.Reported
	}
}

// learn takes note of what became of a charge.
func (a *account) learn(c counters.Charge, f counters.Facts) {
	minute := minuteOf(f.Now)
	if minute < a.minute {
		return // an answer that was overtaken
	}
	a.rollOver(f.Now)
	a.minuteKnown, a.seen = true, max(a.seen, f.MinuteUsed)
	if f.Day.Known {
		a.dayKnown, a.dayUsed, a.dayUnsure, a.series = true, f.Day.Used(), f.Day.Unsure(c.PerDay), f.Day.Series
		if a.dayLocal == c.DayUsed {
			a.dayLocal = 0
		}
	}
}

// dayCounted takes note of how much of the day was used when this node last charged it by
// itself. The counters are to be told, and when the node gives back what it leased for
// that, it goes on to know the day. A day that is spent by this count is not: others may
// give something back.
func (a *account) dayCounted(now, used, perDay int64) {
	if a.day != dayOf(now) {
		return
	}
	a.dayLocal = max(a.dayLocal, used)
	if used < perDay {
		a.dayKnown, a.dayUsed = true, max(a.dayUsed, used)
	}
}

// usage returns what is used, for answers to requests that were not admitted by the
// counters.
func (a *account) usage(now int64, q petcat.Quota) ratelimit.Usage {
	a.rollOver(now)
	return ratelimit.Usage{Now: now, Quota: q, MinuteUsed: a.seen + a.unreported, DayUsed: usedOfDay(a.dayUsed, a.dayUnsure, q)}
}
