package limittest

import (
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// model is a limiter written a second time, for obviousness alone: it keeps the
// moment of every admission and refusal and counts them anew for each question.
// It shares no rule with the limiters but the vocabulary of their answers.
type model struct {
	mode petcat.BanMode
	wall time.Time // what the wall clock shows
	now  time.Time // the limiter's time: never falls while a process runs
	run  int       // counts the processes

	accounts map[petcat.AccountID]*modelAccount
	keys     map[petcat.KeyID]*modelKey
}

type modelAccount struct {
	admitted []modelEvent
	lost     map[int64]int64 // by start of the day in Unix seconds: leased and lost in crashes
}

type modelKey struct {
	refused  []modelEvent
	early    []modelEvent
	ban      *petcat.Ban
	saved    *petcat.Ban     // as it was imposed: what a restarted process is told
	promised map[int64]int64 // by end of the day: the Unix second to come back at
}

// modelEvent happened at a moment to a process; after refusals, by a window.
type modelEvent struct {
	at     int64 // nanoseconds
	run    int
	window petcat.Window
}

func newModel(mode petcat.BanMode, now time.Time) *model {
	return &model{
		mode:     mode,
		wall:     now,
		now:      now,
		accounts: make(map[petcat.AccountID]*modelAccount),
		keys:     make(map[petcat.KeyID]*modelKey),
	}
}

func (m *model) account(id petcat.AccountID) *modelAccount {
	if m.accounts[id] == nil {
		m.accounts[id] = &modelAccount{lost: make(map[int64]int64)}
	}
	return m.accounts[id]
}

func (m *model) key(id petcat.KeyID) *modelKey {
	if m.keys[id] == nil {
		m.keys[id] = &modelKey{promised: make(map[int64]int64)}
	}
	return m.keys[id]
}

func (m *model) advance(d time.Duration) {
	m.wall, m.now = m.wall.Add(d), m.now.Add(d)
	m.catchUp()
}

func (m *model) step(d time.Duration) {
	m.wall = m.wall.Add(d)
	m.catchUp()
}

func (m *model) catchUp() {
	if m.wall.After(m.now) {
		m.now = m.wall
	}
}

// restart forgets what a process forgets. The bans come back from where they
// were saved; none lasts longer from now than its level says.
func (m *model) restart(shared bool) {
	if !shared {
		m.run++
		m.now = m.wall
	}
	for _, k := range m.keys {
		k.refused, k.early = nil, nil
		if k.saved != nil {
			ban := *k.saved
			m.bound(&ban)
			k.ban = &ban
		}
	}
}

func (m *model) bound(b *petcat.Ban) {
	if longest := wholeSecond(m.now.Add(modelLadder[b.Level-1])); b.EndsAt.After(longest) {
		b.EndsAt = longest
	}
}

var modelLadder = []time.Duration{60e9, 300e9, 900e9, 3600e9, 21600e9}

func wholeSecond(t time.Time) time.Time {
	if t.Nanosecond() > 0 {
		return time.Unix(t.Unix()+1, 0).UTC()
	}
	return t
}

func (m *model) dayStart() time.Time {
	return time.Date(m.now.Year(), m.now.Month(), m.now.Day(), 0, 0, 0, 0, time.UTC)
}

func (m *model) minuteStart() time.Time { return m.now.Truncate(time.Minute) }

// usedOfDay counts an account's admissions between two midnights.
func (a *modelAccount) usedOfDay(start time.Time) int64 {
	from, to := start.UnixNano(), start.AddDate(0, 0, 1).UnixNano()
	n := a.lost[start.Unix()]
	for _, e := range a.admitted {
		if e.at >= from && e.at < to {
			n++
		}
	}
	return n
}

func (m *model) usedOfMinute(a *modelAccount) int64 {
	var n int64
	for _, e := range a.admitted {
		if e.run == m.run && e.at >= m.minuteStart().UnixNano() {
			n++
		}
	}
	return n
}

// spend returns the decision that is due, and the ban that it imposes. The
// answer's RetryAfter is without the day's jitter.
func (m *model) spend(c ratelimit.Charge) (ratelimit.Decision, *petcat.Ban) {
	a, k := m.account(c.Account), m.key(c.Key)
	if m.mode == petcat.EnforceBans && m.serving(k) {
		return m.bannedAnswer(a, k, c), nil
	}
	dayFull := a.usedOfDay(m.dayStart()) >= c.Quota.PerDay
	minuteFull := m.usedOfMinute(a) >= c.Quota.PerMinute
	if !dayFull && !minuteFull {
		a.admitted = append(a.admitted, modelEvent{at: m.now.UnixNano(), run: m.run})
		d := m.standings(a, c)
		d.Effective = d.Minute
		if d.Day.Remaining <= d.Minute.Remaining {
			d.Effective = d.Day
		}
		return d, nil
	}
	d := m.standings(a, c)
	window := petcat.Minute
	d.Verdict, d.Effective = ratelimit.MinuteSpent, d.Minute
	if dayFull {
		window = petcat.Day
		d.Verdict, d.Effective = ratelimit.DaySpent, d.Day
	}
	d.RetryAfter = m.wait(d.Effective.Reset)
	return m.judge(a, k, c, window, d)
}

// judge counts a refusal, and bans or warns.
func (m *model) judge(a *modelAccount, k *modelKey, c ratelimit.Charge, w petcat.Window, d ratelimit.Decision) (ratelimit.Decision, *petcat.Ban) {
	if m.mode == petcat.BansOff || m.serving(k) {
		return d, nil
	}
	this := modelEvent{at: m.now.UnixNano(), run: m.run, window: w}
	k.refused = append(k.refused, this)
	start := m.minuteStart()
	if w == petcat.Day {
		start = m.dayStart()
	}
	for _, first := range k.refused {
		if first.window == w && first.at >= start.UnixNano() {
			if this.at-first.at > 2e9 {
				k.early = append(k.early, this)
			}
			break
		}
	}
	var early int64
	for _, e := range k.early {
		if time.Unix(0, e.at).Unix() > m.now.Unix()-60 {
			early++
		}
	}
	threshold := max(30, c.Quota.PerMinute/2)
	if early > threshold {
		m.ban(k, c, int(early))
		if m.mode == petcat.EnforceBans {
			d = m.bannedAnswer(a, k, c)
		}
		ban := *k.ban
		return d, &ban
	}
	if m.mode == petcat.EnforceBans && float64(early) >= float64(threshold)/2 {
		d.Warn, d.EarlyRetriesLeft = true, threshold-early
	}
	return d, nil
}

func (m *model) ban(k *modelKey, c ratelimit.Charge, early int) {
	level := 1
	if k.ban != nil {
		end := k.ban.EndsAt
		if !k.ban.LiftedAt.IsZero() && k.ban.LiftedAt.Before(end) {
			end = k.ban.LiftedAt
		}
		level = k.ban.Level
		for clean := end.AddDate(0, 0, 1); !clean.After(m.now) && level > 0; clean = clean.AddDate(0, 0, 1) {
			level--
		}
		level = min(level+1, 5)
	}
	k.early = nil
	k.ban = &petcat.Ban{
		Key: c.Key, Account: c.Account, Level: level, EarlyRetries: early,
		StartedAt: time.UnixMilli(m.now.UnixMilli()).UTC(),
		EndsAt:    wholeSecond(m.now.Add(modelLadder[level-1])),
		Shadow:    m.mode == petcat.ShadowBans,
	}
	k.save()
}

func (k *modelKey) save() {
	saved := *k.ban
	k.saved = &saved
}

func (m *model) serving(k *modelKey) bool {
	return k.ban != nil && k.ban.LiftedAt.IsZero() && m.now.Before(k.ban.EndsAt)
}

func (m *model) bannedAnswer(a *modelAccount, k *modelKey, c ratelimit.Charge) ratelimit.Decision {
	d := m.standings(a, c)
	d.Verdict, d.BanEnds = ratelimit.Banned, k.ban.EndsAt.Unix()
	d.Effective = ratelimit.WindowState{Limit: c.Quota.PerMinute, Reset: k.ban.EndsAt.Unix()}
	for _, w := range []ratelimit.WindowState{d.Minute, d.Day} {
		if w.Remaining == 0 && w.Reset >= d.Effective.Reset {
			d.Effective = w
		}
	}
	d.RetryAfter = m.wait(d.Effective.Reset)
	return d
}

func (m *model) standings(a *modelAccount, c ratelimit.Charge) ratelimit.Decision {
	day := m.dayStart()
	return ratelimit.Decision{
		Now: m.now.UnixNano(),
		Minute: ratelimit.WindowState{
			Limit:     c.Quota.PerMinute,
			Remaining: max(0, c.Quota.PerMinute-m.usedOfMinute(a)),
			Reset:     m.minuteStart().Add(time.Minute).Unix(),
		},
		Day: ratelimit.WindowState{
			Limit:     c.Quota.PerDay,
			Remaining: max(0, c.Quota.PerDay-a.usedOfDay(day)),
			Reset:     day.AddDate(0, 0, 1).Unix(),
		},
	}
}

// wait returns the seconds until a Unix second, rounded up.
func (m *model) wait(unix int64) int64 {
	d := time.Unix(unix, 0).Sub(m.now)
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return max(1, n)
}

// forget drops what no question can reach any more, so that counting stays
// quick: the clock is never set back by more than two days in all.
func (m *model) forget() {
	oldest := m.wall.Add(-72 * time.Hour).UnixNano()
	keep := func(events []modelEvent) []modelEvent {
		for len(events) > 0 && events[0].at < oldest {
			events = events[1:]
		}
		return events
	}
	for _, a := range m.accounts {
		a.admitted = keep(a.admitted)
	}
	for _, k := range m.keys {
		k.refused, k.early = keep(k.refused), keep(k.early)
	}
}
