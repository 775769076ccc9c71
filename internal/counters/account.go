package counters

import "petcat"

// Account is what is counted of an account: the rules of every implementation, as
// pure functions. Those that count elsewhere say the same in their own language, and
// the suite compares them step by step. The zero Account is one that nobody charged.
type Account struct {
	Minute int64 // index of the minute that Used counts
	Used   int64

	Epoch    int64 // in which DayIndex and Day were last told
	DayIndex int64
	Day      Day

	// The grant for the day after DayIndex; 0: there was none.
	TomorrowGranted, TomorrowCount int64
}

// Charge decides a charge at a moment, in nanoseconds since the Unix epoch, in an epoch.
func (a *Account) Charge(now, epoch int64, c Charge) Facts {
	second := now / 1e9
	a.rollOverMinute(petcat.Minute.Index(second))
	a.rollOverDay(petcat.Day.Index(second), epoch, c.Series)
	if c.Minute == a.Minute {
		a.Used += c.Reported
	}
	n := int64(0)
	if a.Day.Known {
		if petcat.Day.Index(c.Minute*60) == a.DayIndex {
			a.Day.Count = max(a.Day.Count, c.DayUsed)
		}
		n = max(0, min(c.Requests, c.PerMinute-a.Used, c.PerDay-a.Day.Used()))
	}
	leased := min(n, a.Day.Free)
	a.Day.Free -= leased
	if c.Overdraw {
		a.Day.Owed += n - leased
	} else {
		n = leased
	}
	a.Used += n
	return Facts{Now: now, Admitted: n, MinuteUsed: a.Used, Day: a.Day}
}

// rollOverMinute begins a new minute when there is one. When the clock was set back, the
// minute that is counted is called by the one that it is now, with the next charge: nobody
// gets a window for that, and who sends nothing until a minute begins waits one more at most.
func (a *Account) rollOverMinute(minute int64) {
	if minute > a.Minute {
		a.Used = 0
	}
	a.Minute = minute
}

// rollOverDay begins another day. The next one goes on with the series: nothing of it is used
// but what was granted for it. Any other day begins a new series, and so does another
// epoch: then what is left of the old series' block may have been spent already.
func (a *Account) rollOverDay(day, epoch, series int64) {
	switch {
	case a.DayIndex == day && a.Epoch == epoch:
		return
	case a.DayIndex+1 == day && a.Epoch == epoch:
		a.Day = Day{Series: a.Day.Series, Known: true, Count: a.TomorrowCount, Granted: a.TomorrowGranted, Free: a.TomorrowGranted}
	default:
		a.Day = Day{Series: series}
	}
	a.DayIndex, a.Epoch = day, epoch
	a.TomorrowGranted, a.TomorrowCount = 0, 0
}

// Grant takes a grant in an epoch. Of two with the same sum, the larger count is
// taken for the later one: what is known of the day must not fall by a late grant.
func (a *Account) Grant(epoch int64, g Grant) {
	switch {
	case a.Epoch != epoch || a.Day.Series != g.Series:
	case g.Day == a.DayIndex && g.Granted >= a.Day.Granted:
		if g.Granted == a.Day.Granted {
			g.Count = max(g.Count, a.Day.Count)
		}
		a.Day.Known = true
		a.Day.Free += g.Granted - a.Day.Granted
		a.Day.Granted, a.Day.Count = g.Granted, g.Count
		paid := min(a.Day.Owed, a.Day.Free)
		a.Day.Owed, a.Day.Free = a.Day.Owed-paid, a.Day.Free-paid
	case g.Day == a.DayIndex+1 && g.Granted > a.TomorrowGranted:
		a.TomorrowGranted, a.TomorrowCount = g.Granted, g.Count
	}
}
