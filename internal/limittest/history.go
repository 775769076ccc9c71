package limittest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/randomtest"
	"petcat/internal/ratelimit"
)

// Model says what history [RunModel] is to make up.
type Model struct {
	Steps int
	Bans  petcat.BanMode
	// Within runs the history, if set: in a bubble of its own, for instance.
	Within func(t *testing.T, run func(t *testing.T))
	// Sweep makes the limiter drop what is idle, as it does by itself now and
	// then. It may be nil.
	Sweep func(ratelimit.Limiter)
	// Shared says that counts outlive the limiter's process, and so does the clock.
	Shared bool
	// Stepped is told that the clock was set, for a limiter that would find out a
	// moment later. It may be nil.
	Stepped func(ratelimit.Limiter)
}

// seen counts what a history led to, to show that it led everywhere.
type seen struct {
	Admitted, MinuteSpent, DaySpent, Banned int
	Warned, Bans, Lifts, Crashes, Restarts  int
	MaxLevel                                int
}

// everything reports whether a history led everywhere.
func (s seen) everything(bans petcat.BanMode) bool {
	return min(s.Admitted, s.MinuteSpent, s.DaySpent, s.Crashes, s.Restarts) > 0 &&
		(bans != petcat.EnforceBans || min(s.Banned, s.Warned, s.Lifts) > 0 && s.MaxLevel == petcat.MaxBanLevel)
}

// patience is how many times as long as it was to be a history goes on until it has led
// everywhere: some have not led to the highest ban by then.
const patience = 10

// RunModel sends a limiter and the naive model through the same random history
// of requests, pauses, clock steps, plan changes, bans and restarts, and fails
// at the first answer that differs in anything, and when the history does not lead
// everywhere. Each run has a fresh seed; see [randomtest.Run].
func RunModel(t *testing.T, start New, o Model) {
	t.Helper()
	randomtest.Run(t, func(t *testing.T, seed uint64) {
		t.Helper()
		if o.Within == nil {
			runHistory(t, start, o, seed)
			return
		}
		o.Within(t, func(t *testing.T) {
			t.Helper()
			runHistory(t, start, o, seed)
		})
	})
}

func runHistory(t *testing.T, start New, o Model, seed uint64) {
	t.Helper()
	h := &history{
		T:      t,
		rig:    newRig(t, start, o.Bans),
		model:  newModel(o.Bans, origin),
		Steps:  randomtest.New(seed),
		sweep:  o.Sweep,
		shared: o.Shared, stepped: o.Stepped,
		peak:   origin,
		quotas: make(map[petcat.AccountID]petcat.Quota),
		most:   make(map[dayKey]int64),
	}
	for id := range petcat.AccountID(modelAccounts) {
		h.quotas[id] = modelQuotas[int(id)%len(modelQuotas)]
	}
	for n := 0; n < o.Steps || !h.seen.everything(o.Bans) && n < patience*o.Steps; n++ {
		h.step(n)
		if t.Failed() {
			t.Fatalf("mode %s, step %d; the last steps were:\n%s", o.Bans, n, h.Trail())
		}
		if n%500 == 0 {
			h.model.forget()
		}
	}
	t.Logf("%+v", h.seen)
	if !h.seen.everything(o.Bans) {
		t.Error("the history did not lead everywhere")
	}
}

const (
	modelAccounts  = 5
	keysPerAccount = 2
)

// modelQuotas are small, so that the model counts quickly and days run out:
// below, at and above the sizes at which blocks, thresholds and windows change
// their behaviour.
var modelQuotas = []petcat.Quota{
	{PerMinute: 60, PerDay: 1_000},
	{PerMinute: 5, PerDay: 40},
	{PerMinute: 1, PerDay: 3},
	{PerMinute: 100, PerDay: 50}, // a day below a minute
	{PerMinute: 90, PerDay: 2_000},
	{PerMinute: 1, PerDay: 1},
	{PerMinute: 25, PerDay: 399},
}

type history struct {
	*testing.T
	*randomtest.Steps

	rig   *rig
	model *model
	sweep func(ratelimit.Limiter)
	seen  seen

	shared  bool
	stepped func(ratelimit.Limiter)

	peak   time.Time // latest that the wall clock showed
	quotas map[petcat.AccountID]petcat.Quota
	most   map[dayKey]int64 // largest daily quota that held on a day

	// A hot key sends for a while, with a pause before each request.
	hot   ratelimit.Charge
	pause time.Duration
	left  int
}

// step lets something happen now and then, and always sends a request, so that
// the limiter sees every movement of the clock.
func (h *history) step(n int) {
	switch {
	case h.OneIn(400):
		h.stepClock()
	case h.OneIn(300):
		h.changePlan()
	case h.OneIn(1_000):
		h.crash()
	case h.OneIn(1_000):
		h.restart()
	case h.OneIn(300):
		h.applyBan()
	case h.OneIn(200) && h.sweep != nil:
		h.Note("sweep")
		h.sweep(h.rig.limiter)
	}
	if h.left == 0 {
		h.heat()
	}
	h.left--
	h.advance(h.pause)
	h.hot.Quota = h.quotas[h.hot.Account]
	h.spend(n, h.hot)
}

// heat chooses a key, how often it sends and for how long: bursts that spend
// quotas, tight loops that get banned, patient callers, and long silences.
func (h *history) heat() {
	account := petcat.AccountID(h.IntN(modelAccounts))
	h.hot = ratelimit.Charge{Account: account, Key: petcat.KeyID(int(account)*keysPerAccount + h.IntN(keysPerAccount))}
	h.pause = randomtest.Pick(h.Steps, 0, time.Nanosecond, 7*time.Millisecond, 150*time.Millisecond, 999*time.Millisecond, 2*time.Second, 9*time.Second, time.Minute)
	h.left = 1 + h.IntN(randomtest.Pick(h.Steps, 3, 40, 150))
	h.advance(randomtest.Pick(h.Steps, 0, 0, time.Second, 2001*time.Millisecond, 30*time.Second, 61*time.Second, 12*time.Minute, time.Hour, 7*time.Hour, 26*time.Hour*time.Duration(h.IntN(2))))
}

func (h *history) advance(d time.Duration) {
	if d == 0 {
		return
	}
	h.Note("advance %s", d)
	h.rig.clock.Advance(d)
	h.model.advance(d)
	h.observePeak()
}

func (h *history) observePeak() {
	if h.model.wall.After(h.peak) {
		h.peak = h.model.wall
	}
}

func (h *history) stepClock() {
	d := randomtest.Pick(h.Steps, time.Nanosecond, time.Second, time.Minute, time.Hour, 24*time.Hour)
	if randomtest.Pick(h.Steps, true, false) {
		d = -d
	}
	if h.model.wall.Add(d).Before(h.peak.Add(-48 * time.Hour)) {
		return
	}
	h.Note("step the clock %s", d)
	h.rig.clock.Step(d)
	h.model.step(d)
	h.observePeak()
	if h.stepped != nil {
		h.stepped(h.rig.limiter)
	}
}

func (h *history) changePlan() {
	account := petcat.AccountID(h.IntN(modelAccounts))
	h.quotas[account] = randomtest.Pick(h.Steps, modelQuotas...)
	h.Note("account %d changes to %+v", account, h.quotas[account])
}

func (h *history) spend(n int, c ratelimit.Charge) {
	h.Helper()
	day := dayKey{c.Account, h.model.dayStart().Unix() / 86_400}
	h.most[day] = max(h.most[day], c.Quota.PerDay)
	known := len(h.rig.bans)
	got := h.rig.spend(c)
	want, ban := h.model.spend(c)
	h.Note("%d. spend %+v: %+v", n, c, want)
	h.count(want)
	if want.Verdict != ratelimit.Admitted && want.Effective == want.Day {
		h.checkPromise(c, got, want)
		got.RetryAfter, want.RetryAfter = 0, 0
	}
	if got != want {
		h.Errorf("answer (-want +got):\n%s", cmp.Diff(want, got))
	}
	var wantBans []petcat.Ban
	if ban != nil {
		wantBans = append(wantBans, *ban)
		h.seen.Bans++
		h.seen.MaxLevel = max(h.seen.MaxLevel, ban.Level)
	}
	if len(h.rig.bans) != known+len(wantBans) {
		h.Errorf("%d bans were reported, want %d", len(h.rig.bans)-known, len(wantBans))
	} else if ban != nil && h.rig.bans[known] != *ban {
		h.Errorf("ban (-want +got):\n%s", cmp.Diff(*ban, h.rig.bans[known]))
	}
}

// checkPromise: on the day window up to 60 s are added, but a key is told one
// moment only.
func (h *history) checkPromise(c ratelimit.Charge, got, want ratelimit.Decision) {
	extra := got.RetryAfter - want.RetryAfter
	if extra < 0 || extra > 60 {
		h.Errorf("RetryAfter = %d, want %d to %d", got.RetryAfter, want.RetryAfter, want.RetryAfter+60)
	}
	key := h.model.key(c.Key)
	if before, told := key.promised[want.Day.Reset]; told && before != extra {
		h.Errorf("%d s after the day's end, after a promise of %d s", extra, before)
	}
	key.promised[want.Day.Reset] = extra
}

func (h *history) count(d ratelimit.Decision) {
	switch d.Verdict {
	case ratelimit.Admitted:
		h.seen.Admitted++
	case ratelimit.MinuteSpent:
		h.seen.MinuteSpent++
	case ratelimit.DaySpent:
		h.seen.DaySpent++
	case ratelimit.Banned:
		h.seen.Banned++
	}
	if d.Warn {
		h.seen.Warned++
	}
}

// crash ends the process. What it had leased and not spent is lost, which must
// be next to nothing; what it had admitted is not.
func (h *history) crash() {
	h.Note("crash")
	h.seen.Crashes++
	h.rig.crash()
	h.afterRestart(func(quota int64) int64 { return max(1, quota/100) })
}

// restart ends the process in order. Nothing is lost.
func (h *history) restart() {
	h.Note("restart")
	h.seen.Restarts++
	h.rig.restart()
	h.afterRestart(func(int64) int64 { return 0 })
}

func (h *history) afterRestart(mayLose func(quota int64) int64) {
	h.Helper()
	for day, quota := range h.most {
		if h.shared {
			break // the limiter goes on with what was leased
		}
		if time.Unix(day.day*86_400, 0).Before(h.peak.Add(-72 * time.Hour)) {
			delete(h.most, day)
			continue
		}
		a := h.model.account(day.account)
		start := time.Unix(day.day*86_400, 0).UTC()
		lost := h.rig.days.Count(day.account, day.day) - a.usedOfDay(start)
		if lost < 0 || lost > mayLose(quota) {
			h.Errorf("account %d, day %d: the store counts %d more than were admitted, quota %d", day.account, day.day, lost, quota)
		}
		a.lost[start.Unix()] += lost
	}
	h.model.restart(h.shared)
	for id := range petcat.KeyID(modelAccounts * keysPerAccount) {
		if ban := h.model.key(id).saved; ban != nil {
			h.rig.limiter.ApplyBan(*ban)
		}
	}
}

// applyBan brings news from elsewhere: a lift, a ban, or something outdated.
func (h *history) applyBan() {
	if h.model.mode == petcat.BansOff {
		return
	}
	id := petcat.KeyID(h.IntN(modelAccounts * keysPerAccount))
	key, account := h.model.key(id), petcat.AccountID(id/keysPerAccount)
	started := time.UnixMilli(h.model.now.UnixMilli()).UTC()
	switch {
	case key.ban == nil, h.OneIn(4) && key.ban.StartedAt.Before(started):
		level := 1 + h.IntN(len(modelLadder))
		ban := petcat.Ban{
			Key: id, Account: account, Level: level, EarlyRetries: 31, StartedAt: started,
			EndsAt: wholeSecond(started.Add(modelLadder[level-1])), Shadow: h.model.mode == petcat.ShadowBans,
		}
		h.Note("apply %+v", ban)
		h.rig.limiter.ApplyBan(ban)
		key.ban, key.early = &ban, nil
		key.save()
	case h.OneIn(2) && key.ban.LiftedAt.IsZero():
		h.seen.Lifts++
		ban := *key.ban
		ban.LiftedAt, ban.LiftedBy = h.model.now, "cli:ann"
		h.Note("lift %+v", ban)
		h.rig.limiter.ApplyBan(ban)
		key.ban = &ban
		key.saved.LiftedAt, key.saved.LiftedBy = ban.LiftedAt, ban.LiftedBy
	default:
		// An older ban also ended earlier, even than one whose end was moved
		// because it had been imposed by a clock that was ahead.
		old := *key.ban
		if old.End().Before(old.StartedAt) {
			old.StartedAt = old.End()
		}
		old.StartedAt = old.StartedAt.Add(-time.Hour)
		old.EndsAt, old.LiftedAt = old.StartedAt.Add(time.Minute), old.StartedAt
		h.Note("apply old %+v", old)
		h.rig.limiter.ApplyBan(old)
		h.rig.limiter.ApplyBan(*key.ban)
	}
}
