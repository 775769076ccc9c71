package e2e

import (
	"time"
)

// use is what became of an account's requests in one minute.
type use struct {
	count    [outcomes]int64
	edge     int64 // admitted in this minute or the next
	sent     int64 // may have been charged in it: all that were answered in it or sent in it
	possible int64 // may have been admitted in it
	byNode   map[int32]int64
}

// clockLag is how late a node's idea of the counters' clock may be: it looks at the
// counters' clock with each answer, which takes some time.
const clockLag = 50 * time.Millisecond

// minutes returns in which minutes a request may have been charged. What a frozen node
// had got it may charge when it is awake.
func (x *clusterTorture) minutes(e event) (first, last int64) {
	received := time.Unix(0, e.received)
	if e.outcome == unanswered {
		received = x.incidents.frozen(x.node(e.node), received).Add(time.Second)
	}
	return time.Unix(0, e.sent).Add(-clockLag).Unix() / 60, received.Unix() / 60
}

// uses returns what became of an account's requests by minute.
func (x *clusterTorture) uses(a *tortureAccount, from, to int64) map[int64]*use {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[int64]*use)
	of := func(minute int64) *use {
		if all[minute] == nil {
			all[minute] = &use{byNode: make(map[int32]int64)}
		}
		return all[minute]
	}
	for _, e := range a.events {
		first, last := x.minutes(e)
		if last < from || first > to {
			continue
		}
		for minute := first; minute <= last; minute++ {
			u := of(minute)
			u.sent++
			if e.outcome.charges() || e.outcome == unanswered {
				u.possible++
			}
		}
		switch u := of(first); {
		case first == last:
			u.count[e.outcome]++
			if e.outcome.charges() {
				u.byNode[e.node]++
			}
		case e.outcome.charges():
			u.edge++
		}
	}
	return all
}

// check holds each account's minutes that ended before a moment against what is promised.
func (x *clusterTorture) check(before time.Time) {
	last := before.Unix()/60 - 1
	if last < x.checked {
		return
	}
	uses := make([]map[int64]*use, len(x.accounts))
	for i, a := range x.accounts {
		uses[i] = x.uses(a, x.checked, last)
		x.verdicts.count(uses[i], x.checked, last)
	}
	for ; x.checked <= last; x.checked++ {
		begin := time.Unix(60*x.checked, 0)
		nodes := x.nodesIn(begin)
		b := x.incidents.bound(begin, nodes)
		l := x.machine.lateness(begin, b.hit, nodes, x.incidents.database)
		if l.late {
			b.name += "; the machine made the counters late"
		}
		x.verdicts.minute(b, l)
		excess := int64(0)
		for i, a := range x.accounts {
			u := uses[i][x.checked]
			if u == nil {
				u = &use{}
			}
			excess += x.checkMinute(a, begin, u, b, l)
		}
		if l.late && !l.explains(excess) {
			x.verdicts.wrong("in the minute from %s, when %s (%s): %d were admitted above the bounds of all accounts, but nodes decided %d by themselves%s",
				clockTime(begin), b.name, b, excess, l.local, x.machine.tell(begin.Add(-5*time.Second), begin.Add(65*time.Second)))
		}
	}
}

// checkMinute holds one account's minute against its bound, and returns how many it was
// admitted above it because calls were late: then the minute is one in which the counters were
// lost and came back.
func (x *clusterTorture) checkMinute(a *tortureAccount, begin time.Time, u *use, b bound, l lateness) (excess int64) {
	total, most := u.count[admitted]+u.count[listless]+a.carry, b.of(a.quota.PerMinute)
	if b.times < 2 {
		if excess = max(0, total-most); excess > 0 && l.late {
			x.verdicts.voided(begin)
		}
		most = min(2*a.quota.PerMinute, most+l.excess(a.quota.PerMinute))
	}
	if total > most {
		x.wrongMinute(a, begin, u, b, "%d were admitted, want at most %d", total, most)
	}
	here := max(0, min(u.edge, most-total))
	a.carry = u.edge - here
	x.verdicts.admits(b, total+here, a.quota.PerMinute)

	early := u.count[refused] > 0 && u.possible < a.quota.PerMinute
	switch {
	case !b.exact || u.count[byShare] == 0 && !early:
	case l.late:
		x.verdicts.voided(begin)
	case early:
		x.wrongMinute(a, begin, u, b, "%d were refused when at most %d were admitted", u.count[refused], u.possible)
	default:
		x.wrongMinute(a, begin, u, b, "%d were refused by a node's share", u.count[byShare])
	}
	// Whatever fails, the whole quota is used up for nobody who has not asked for it.
	if u.count[refused] > 0 && u.sent+x.charged(a, begin, l.late) <= a.quota.PerMinute {
		x.wrongMinute(a, begin, u, b, "%d were refused by the whole quota, of which at most %d were asked for", u.count[refused], u.sent)
	}
	return excess
}

// charged returns how many requests of earlier minutes counters may have charged to a minute:
// those that hung and woke up in it, and those that were late at its beginning.
func (x *clusterTorture) charged(a *tortureAccount, begin time.Time, late bool) (count int64) {
	since := func(from time.Time) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, e := range a.events {
			if sent := time.Unix(0, e.sent); sent.Before(begin) && sent.After(from) {
				count++
			}
		}
	}
	for _, f := range x.incidents.between(begin.Add(-recovery), begin.Add(time.Minute)) {
		if f.kind == redisHung || f.kind == postgresHung && x.incidents.database {
			since(f.from.Add(-time.Second))
		}
	}
	if late {
		since(begin.Add(-recovery))
	}
	return count
}

// checkDays: no account is admitted more than its day, but for what nodes admitted without
// counters and PostgreSQL, of which they do not know of each other; and no less, but for
// what was leased and lost with the counters or a node.
func (x *clusterTorture) checkDays() {
	if x.begin.UTC().YearDay() != time.Now().UTC().YearDay() {
		return // there were two
	}
	losses := int64(1)
	for _, f := range x.incidents.between(x.begin, x.end) {
		if f.kind.epoch(x.incidents.database) || f.kind == nodeKilled {
			losses++
		}
	}
	spent, least := 0, 1.0
	lastMinute := x.end.Add(-time.Minute)
	calm := x.incidents.bound(lastMinute, x.nodesIn(lastMinute)).exact
	for _, a := range x.accounts {
		total, unknown, over := int64(0), int64(0), false
		for _, e := range a.events {
			received := time.Unix(0, e.received)
			switch e.outcome {
			case daySpent:
				over = over || received.After(lastMinute)
			case unanswered:
				unknown++
			case admitted, listless:
				total++
				if x.incidents.dayUnknown(received) {
					unknown++
				}
			default:
			}
		}
		day := a.quota.PerDay
		if total > day+unknown {
			x.verdicts.wrong("%s: %d of its day's %d are admitted, %d of them without PostgreSQL and the counters", a.name, total, day, unknown)
		}
		if !over {
			continue
		}
		spent++
		least = min(least, float64(total)/float64(day))
		if calm && total+unknown < day-losses*(day/100+1) {
			x.verdicts.wrong("%s: its day of %d is spent with %d admitted; the counters or a node were lost %d times", a.name, day, total, losses)
		}
	}
	x.t.Logf("the day of %d accounts is spent, with %.3f of the quota admitted at least", spent, least)
}

// dayUnknown reports whether what was admitted at a moment may be known to nobody but the
// node that admitted it: the counters were away in it, and PostgreSQL then or before the
// counters have been told.
func (i *incidents) dayUnknown(at time.Time) bool {
	around := i.between(at.Add(-time.Minute), at.Add(time.Minute))
	for _, f := range around {
		if !f.kind.counters(i.database) {
			continue
		}
		for _, store := range around {
			if store.kind.store() && store.overlaps(f.from.Add(-time.Minute), f.to.Add(time.Minute)) {
				return true
			}
		}
	}
	return false
}
