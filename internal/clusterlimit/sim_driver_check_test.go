package clusterlimit

import (
	"time"

	"petcat"
)

type countKey struct{ account, window int }

// clusterWindow is a window, as the simulation's oracle has them: it begins when the counters'
// clock shows a later minute than before.
type clusterWindow struct {
	begin  time.Time
	minute int64 // that the clock showed last in it
}

// window returns the window of a request that was sent at a moment, by the counters' time
// that a node told, as [oracle.of] does. The caller holds c.mu.
func (c *cluster) window(sent time.Time, now int64) int {
	minute := minuteOf(time.Now().Add(c.ahead).UnixNano())
	if last := len(c.windows) - 1; last < 0 || minute > c.windows[last].minute {
		c.windows = append(c.windows, clusterWindow{begin: time.Now()})
	}
	last := len(c.windows) - 1
	c.windows[last].minute = minute
	c.ofMinute[minute] = last
	i, known := c.ofMinute[minuteOf(now)]
	if !known || c.steps > 0 && i < last && c.windows[i+1].begin.Before(sent.Add(-time.Second)) {
		return last
	}
	return i
}

func (c *cluster) count(who int, sent time.Time, now int64) *[2]int64 {
	k := countKey{who, c.window(sent, now)}
	if c.counted[k] == nil {
		c.counted[k] = new([2]int64)
	}
	return c.counted[k]
}

// banned: nobody who stays below the plan is.
func (c *cluster) banned(b petcat.Ban) {
	c.mu.Lock()
	defer c.mu.Unlock()
	who := int(b.Account) - 1
	for k, n := range c.counted {
		if k.account == who && n[0] > min(c.schedule.quotas[who].PerMinute, c.quotas[who].PerMinute) {
			return
		}
	}
	if !c.schedule.smallDays && c.bad.twice == 0 && c.steps == 0 {
		c.Errorf("%s: account %d is banned, which has sent less than its plan allows", time.Since(c.began), who)
	}
}

// check holds what was admitted against the bounds.
func (c *cluster) check() {
	days := make(map[int]int64)
	for k, n := range c.counted {
		days[k.account] += n[1]
		begin, end := c.windows[k.window].begin, time.Now()
		if k.window+1 < len(c.windows) {
			end = c.windows[k.window+1].begin
		}
		limit, bound := c.most[k.account].PerMinute, c.most[k.account].PerMinute
		for _, f := range c.faults {
			if f.from.Before(end) && f.to.After(begin.Add(-recovery)) {
				bound = 2 * limit
			}
		}
		if n[1] > bound {
			c.Errorf("window from %s: account %d is admitted %d, want at most %d", begin.Sub(c.began), k.account, n[1], bound)
		}
	}
	for who, n := range days {
		if n > c.most[who].PerDay*(1+c.steps) && (!c.storeTrouble || !c.countersTrouble) {
			c.Errorf("account %d is admitted %d on a day of %d", who, n, c.most[who].PerDay)
		}
	}
}
