package limittest

import (
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// spender is a key whose account's day is spent after one request, so that all
// further ones are refused for as long as a test needs.
var spender = ratelimit.Charge{Account: 1, Key: 11, Quota: petcat.Quota{PerMinute: 60, PerDay: 1}}

// offend spends the quota, opens the grace with a refusal, and lets it pass.
func (r *rig) offend(c ratelimit.Charge) {
	r.t.Helper()
	for range c.Quota.PerDay {
		r.spendTimes(1, c, ratelimit.Admitted)
	}
	r.spendTimes(1, c, ratelimit.DaySpent)
	r.clock.Advance(petcat.EarlyRetryGrace + time.Nanosecond)
}

func testBans(t *testing.T, start New) {
	t.Run("enforce", func(t *testing.T) { testEnforcedBan(t, start) })
	t.Run("beside spent windows", func(t *testing.T) { testBanBesideWindows(t, start) })
	t.Run("ladder", func(t *testing.T) { testLadder(t, start) })
	t.Run("mercy", func(t *testing.T) { testMercy(t, start) })
	t.Run("modes", func(t *testing.T) { testBanModes(t, start) })
	t.Run("from elsewhere", func(t *testing.T) { testAppliedBans(t, start) })
}

func testEnforcedBan(t *testing.T, start New) {
	r := newRig(t, start, petcat.EnforceBans)
	r.offend(spender)

	d := r.spendTimes(14, spender, ratelimit.DaySpent)
	wantEqual(t, "Warn below half of the threshold", d.Warn, false)
	d = r.spendTimes(1, spender, ratelimit.DaySpent)
	wantEqual(t, "Warn at half of the threshold", d.Warn, true)
	wantEqual(t, "EarlyRetriesLeft at half of the threshold", d.EarlyRetriesLeft, 15)
	d = r.spendTimes(15, spender, ratelimit.DaySpent)
	wantEqual(t, "EarlyRetriesLeft at the threshold", d.EarlyRetriesLeft, 0)
	wantEqual(t, "bans at the threshold", len(r.reported()), 0)

	d = r.spendTimes(1, spender, ratelimit.Banned)
	// The ban's minute began at 10:00:20.000000001 and ends with a whole second. The
	// spent day ends later, and that is what the caller is told.
	end := unix(10, 1, 21)
	wantState(t, "Effective", d.Effective, ratelimit.WindowState{Limit: 1, Remaining: 0, Reset: unix(24, 0, 0)})
	wantState(t, "Minute", d.Minute, ratelimit.WindowState{Limit: 60, Remaining: 59, Reset: unix(10, 1, 0)})

	bans := r.reported()
	if len(bans) != 1 {
		t.Fatalf("%d bans were reported", len(bans))
	}
	b := bans[0]
	wantEqual(t, "Key", b.Key, spender.Key)
	wantEqual(t, "Account", b.Account, spender.Account)
	wantEqual(t, "Level", b.Level, 1)
	wantEqual(t, "EarlyRetries", b.EarlyRetries, 31)
	wantEqual(t, "Shadow", b.Shadow, false)
	wantEqual(t, "EndsAt", b.EndsAt, time.Unix(end, 0).UTC())
	wantEqual(t, "StartedAt", b.StartedAt, origin.Add(petcat.EarlyRetryGrace))

	// Neither other keys nor the counts are touched, and nothing moves the end.
	sibling := spender
	sibling.Key, sibling.Quota = 12, free
	wantEqual(t, "Day.Remaining of another key", r.spendTimes(1, sibling, ratelimit.Admitted).Day.Remaining, 998)
	r.clock.Advance(30 * time.Second)
	spender := spender
	spender.Quota = free // a plan change: now it is the ban alone that refuses
	d = r.spendTimes(500, spender, ratelimit.Banned)
	wantState(t, "Effective after hammering", d.Effective, ratelimit.WindowState{Limit: 60, Remaining: 0, Reset: end})
	wantEqual(t, "RetryAfter", d.RetryAfter, 31)
	r.clock.Advance(31*time.Second - 2*time.Nanosecond)
	wantEqual(t, "RetryAfter just before the end", r.spendTimes(1, spender, ratelimit.Banned).RetryAfter, 1)
	r.clock.Advance(time.Nanosecond)
	spender.Quota.PerDay = 1
	d = r.spendTimes(1, spender, ratelimit.DaySpent)
	wantEqual(t, "Warn after the ban", d.Warn, false)
	wantEqual(t, "bans", len(r.reported()), 1)
}

// testBanBesideWindows: who is told to come back when a ban ends must not be
// refused then by a window that was spent all the while.
func testBanBesideWindows(t *testing.T, start New) {
	banned := ratelimit.Charge{Account: 1, Key: 11, Quota: petcat.Quota{PerMinute: 2, PerDay: 3}}
	sibling := banned
	sibling.Key = 12
	r := newRig(t, start, petcat.EnforceBans)
	end := origin.Add(65 * time.Second) // 10:01:23
	r.limiter.ApplyBan(petcat.Ban{Key: banned.Key, Account: 1, Level: 2, StartedAt: origin, EndsAt: end})

	r.spendTimes(2, sibling, ratelimit.Admitted)
	d := r.spendTimes(1, banned, ratelimit.Banned)
	wantState(t, "the minute ends before the ban", d.Effective, ratelimit.WindowState{Limit: 2, Remaining: 0, Reset: end.Unix()})
	wantEqual(t, "RetryAfter", d.RetryAfter, 65)

	r.clock.Advance(42 * time.Second)
	sibling.Quota.PerDay, banned.Quota.PerDay = 1_000, 1_000
	r.spendTimes(2, sibling, ratelimit.Admitted)
	d = r.spendTimes(1, banned, ratelimit.Banned)
	wantState(t, "the minute ends after the ban", d.Effective, ratelimit.WindowState{Limit: 2, Remaining: 0, Reset: unix(10, 2, 0)})
	wantEqual(t, "RetryAfter", d.RetryAfter, 60)

	sibling.Quota.PerDay, banned.Quota.PerDay = 4, 4
	day := r.spendTimes(1, sibling, ratelimit.DaySpent)
	d = r.spendTimes(1, banned, ratelimit.Banned)
	wantState(t, "the day ends after the ban", d.Effective, day.Effective)
	if d.RetryAfter < day.Day.Reset-d.Now/1e9 || d.RetryAfter > day.Day.Reset-d.Now/1e9+60 {
		t.Errorf("RetryAfter %d, and the day ends at %d", d.RetryAfter, day.Day.Reset)
	}
}

func testLadder(t *testing.T, start New) {
	r := newRig(t, start, petcat.EnforceBans)
	r.offend(spender)
	for i, want := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 6 * time.Hour} {
		r.spendTimes(30, spender, ratelimit.DaySpent)
		d := r.spendTimes(1, spender, ratelimit.Banned)
		ban := r.reported()[i]
		lasts := ban.EndsAt.Sub(time.Unix(0, d.Now))
		if lasts < want || lasts >= want+time.Second {
			t.Errorf("ban %d lasts %s, want %s", i+1, lasts, want)
		}
		wantEqual(t, "Level", ban.Level, min(i+1, petcat.MaxBanLevel))
		r.clock.Advance(lasts)
	}
	// 10:00 and 13 h 21 min of bans: still the same day, level 5. Three clean days
	// take three levels, so that the next ban is of the third.
	r.clock.Advance(3*24*time.Hour + time.Second)
	r.offend(spender)
	r.spendTimes(30, spender, ratelimit.DaySpent)
	r.spendTimes(1, spender, ratelimit.Banned)
	wantEqual(t, "Level after three clean days", r.reported()[6].Level, 3)
}

func testMercy(t *testing.T, start New) {
	t.Run("requests under way", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.spendTimes(1, spender, ratelimit.Admitted)
		r.spendTimes(1, spender, ratelimit.DaySpent)
		r.clock.Advance(petcat.EarlyRetryGrace)
		d := r.spendTimes(1_000, spender, ratelimit.DaySpent)
		wantEqual(t, "Warn", d.Warn, false)
	})

	t.Run("a retry every two seconds", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.offend(spender)
		for range 2_000 {
			r.clock.Advance(2 * time.Second)
			r.spendTimes(1, spender, ratelimit.DaySpent)
		}
	})

	t.Run("only the last minute counts", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.offend(spender)
		r.spendTimes(30, spender, ratelimit.DaySpent)
		r.clock.Advance(time.Minute)
		d := r.spendTimes(30, spender, ratelimit.DaySpent)
		wantEqual(t, "EarlyRetriesLeft", d.EarlyRetriesLeft, 0)
	})

	t.Run("big quotas bear more", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		c := spender
		c.Quota.PerMinute = 1_000
		r.offend(c)
		r.spendTimes(500, c, ratelimit.DaySpent)
		r.spendTimes(1, c, ratelimit.Banned)
	})

	t.Run("each minute has its own grace", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		c := ratelimit.Charge{Account: 1, Key: 11, Quota: petcat.Quota{PerMinute: 1, PerDay: 1_000}}
		r.spendTimes(1, c, ratelimit.Admitted)
		r.spendTimes(1, c, ratelimit.MinuteSpent)
		r.clock.Advance(time.Minute)
		r.spendTimes(1, c, ratelimit.Admitted)
		d := r.spendTimes(100, c, ratelimit.MinuteSpent)
		wantEqual(t, "Warn", d.Warn, false)
	})
}

func testBanModes(t *testing.T, start New) {
	t.Run("shadow", func(t *testing.T) {
		r := newRig(t, start, petcat.ShadowBans)
		r.offend(spender)
		d := r.spendTimes(100, spender, ratelimit.DaySpent)
		wantEqual(t, "Warn", d.Warn, false)
		bans := r.reported()
		if len(bans) != 1 || !bans[0].Shadow || bans[0].Level != 1 {
			t.Fatalf("reported %+v, want one shadow ban of level 1", bans)
		}
		r.clock.Advance(bans[0].EndsAt.Sub(origin))
		r.spendTimes(31, spender, ratelimit.DaySpent)
		if bans = r.reported(); len(bans) != 2 || bans[1].Level != 2 {
			t.Fatalf("reported %+v, want a second one of level 2", bans)
		}
	})

	t.Run("off", func(t *testing.T) {
		r := newRig(t, start, petcat.BansOff)
		r.offend(spender)
		d := r.spendTimes(1_000, spender, ratelimit.DaySpent)
		wantEqual(t, "Warn", d.Warn, false)
		wantEqual(t, "bans", len(r.reported()), 0)
	})
}

func testAppliedBans(t *testing.T, start New) {
	ban := petcat.Ban{Key: 11, Account: 1, Level: 2, StartedAt: origin, EndsAt: origin.Add(5 * time.Minute)}
	key := ratelimit.Charge{Account: 1, Key: 11, Quota: free}

	t.Run("holds until it is lifted", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.limiter.ApplyBan(ban)
		d := r.spendTimes(3, key, ratelimit.Banned)
		wantEqual(t, "Reset", d.Effective.Reset, ban.EndsAt.Unix())
		wantEqual(t, "RetryAfter", d.RetryAfter, 300)

		lifted := ban
		lifted.LiftedAt, lifted.LiftedBy = origin, "cli:ann"
		r.limiter.ApplyBan(lifted)
		wantEqual(t, "Remaining after the lift", r.spendTimes(1, key, ratelimit.Admitted).Effective.Remaining, 59)
		r.limiter.ApplyBan(ban) // old news
		r.spendTimes(1, key, ratelimit.Admitted)
	})

	t.Run("a lift leaves the level", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.offend(spender)
		r.spendTimes(30, spender, ratelimit.DaySpent)
		r.spendTimes(2, spender, ratelimit.Banned)
		lifted := r.reported()[0]
		// Stores keep milliseconds.
		lifted.StartedAt = lifted.StartedAt.Truncate(time.Millisecond)
		lifted.LiftedAt = lifted.StartedAt.Add(time.Second)
		r.limiter.ApplyBan(lifted)
		r.spendTimes(30, spender, ratelimit.DaySpent)
		r.spendTimes(1, spender, ratelimit.Banned)
		wantEqual(t, "Level", r.reported()[1].Level, 2)
	})

	t.Run("an older ban changes nothing", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		r.limiter.ApplyBan(ban)
		old := ban
		old.StartedAt = ban.StartedAt.Add(-time.Hour)
		old.EndsAt, old.LiftedAt = old.StartedAt.Add(time.Minute), old.StartedAt
		r.limiter.ApplyBan(old)
		wantEqual(t, "Reset", r.spendTimes(1, key, ratelimit.Banned).Effective.Reset, ban.EndsAt.Unix())
	})

	t.Run("no ban lasts longer than its level", func(t *testing.T) {
		r := newRig(t, start, petcat.EnforceBans)
		odd := ban // imposed while the clock was a year ahead
		odd.StartedAt, odd.EndsAt = ban.StartedAt.AddDate(1, 0, 0), ban.EndsAt.AddDate(1, 0, 0)
		r.limiter.ApplyBan(odd)
		wantEqual(t, "RetryAfter", r.spendTimes(1, key, ratelimit.Banned).RetryAfter, 300)
		r.clock.Advance(time.Minute)
		r.limiter.ApplyBan(odd)
		wantEqual(t, "RetryAfter a minute later", r.spendTimes(1, key, ratelimit.Banned).RetryAfter, 240)
	})

	t.Run("shadow bans and modes without enforcement keep nobody out", func(t *testing.T) {
		shadow := ban
		shadow.Shadow = true
		for _, tc := range []struct {
			mode petcat.BanMode
			ban  petcat.Ban
		}{{petcat.EnforceBans, shadow}, {petcat.ShadowBans, ban}, {petcat.BansOff, ban}} {
			r := newRig(t, start, tc.mode)
			r.limiter.ApplyBan(tc.ban)
			r.spendTimes(1, key, ratelimit.Admitted)
		}
	})
}
