package ratelimit_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// exhaust uses up the minute quota and sends another request.
func (s *service) exhaust(c ratelimit.Charge) {
	s.t.Helper()
	for s.spend(c).Outcome == ratelimit.Allowed {
	}
}

// untilBanned sends early retries until the key is banned, and returns their number.
func (s *service) untilBanned(c ratelimit.Charge, most int) (early int) {
	s.t.Helper()
	s.exhaust(c)
	s.clock.Advance(petcat.EarlyRetryGrace + 1)
	for early < most {
		early++
		if s.spend(c).Outcome == ratelimit.Banned {
			break
		}
	}
	return early
}

func TestBanAfterEarlyRetries(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
		s.exhaust(c)
		s.clock.Advance(petcat.EarlyRetryGrace)
		for range 500 { // in flight when the quota ran out
			wantEqual(t, "within the grace", ratelimit.MinuteSpent, s.spend(c).Outcome)
		}
		s.clock.Advance(1)
		for n := int64(1); n <= 100; n++ {
			d := s.spend(c)
			wantEqual(t, "an early retry", ratelimit.MinuteSpent, d.Outcome)
			wantEqual(t, "the warning", n >= 50, d.Warn)
			if d.Warn {
				wantEqual(t, "early retries left", 100-n, d.EarlyRetriesLeft)
			}
		}
		d := s.spend(c)
		end := noon.Add(63 * time.Second)
		wantEqual(t, "the outcome", ratelimit.Banned, d.Outcome)
		wantEqual(t, "the end", end.Unix(), d.BanEnds)
		wantEqual(t, "Retry-After", 62, d.RetryAfter)
		wantEqual(t, "the bans", []petcat.Ban{{
			Key:          1,
			Account:      1,
			Level:        1,
			StartedAt:    noon.Add(2 * time.Second),
			EndsAt:       end,
			EarlyRetries: 101,
		}}, s.bans)
		other := ratelimit.Charge{Account: 1, Key: 2, Quota: free}
		wantEqual(t, "another key of the account", ratelimit.MinuteSpent, s.spend(other).Outcome)

		calls := s.calls()
		for range 1_000 {
			wantEqual(t, "during the ban", end.Unix(), s.spend(c).BanEnds)
		}
		wantEqual(t, "calls of the counters for a banned key", 0, s.calls()-calls)
		s.clock.Advance(end.Sub(s.clock.Read().Time()) - 1)
		wantEqual(t, "just before the end", ratelimit.Banned, s.spend(c).Outcome)
		s.clock.Advance(1)
		wantEqual(t, "at the end", ratelimit.Allowed, s.spend(c).Outcome)
	})
}

func (s *service) calls() int {
	if s.shared == nil {
		return 0
	}
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	return s.shared.calls
}

// Clients that obey Retry-After are never banned, even with many processes on one key.
func TestObedientClientsAreNotBanned(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000_000}}
		waits := make([]time.Duration, 90) // until the next request of each process
		for range 3 * 60 * 10 {
			for i := range waits {
				if waits[i] -= 100 * time.Millisecond; waits[i] <= 0 {
					if d := s.spend(c); d.Outcome != ratelimit.Allowed {
						waits[i] = time.Duration(d.RetryAfter) * time.Second
					}
				}
			}
			s.clock.Advance(100 * time.Millisecond)
		}
		wantEqual(t, "bans", 0, len(s.bans))
	})
}

// Bans get longer, and the level decreases by one for each day without a ban.
func TestBanLevels(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 2, PerDay: 1_000_000}}
		const minute, hour = time.Minute, time.Hour
		for i, length := range []time.Duration{minute, 5 * minute, 15 * minute, hour, 6 * hour, 6 * hour} {
			wantEqual(t, "early retries", 101, s.untilBanned(c, 1_000))
			b := s.bans[i]
			if got := b.EndsAt.Sub(b.StartedAt); got < length || got > length+time.Second {
				t.Errorf("ban %d lasts %s, want %s", i+1, got, length)
			}
			s.clock.Advance(b.EndsAt.Sub(s.clock.Read().Time()))
		}
		s.clock.Advance(2 * 24 * time.Hour)
		s.untilBanned(c, 1_000)
		wantEqual(t, "the level after two days without a ban", 4, s.bans[len(s.bans)-1].Level)
	})
}

func TestBanModes(t *testing.T) {
	c := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
	for mode, bans := range map[petcat.BanMode]int{petcat.ShadowBans: 1, petcat.BansOff: 0} {
		eachLimiter(t, func(t *testing.T, s *service) {
			wantEqual(t, "early retries", 1_000, s.untilBanned(c, 1_000))
			wantEqual(t, "bans", bans, len(s.bans))
			if bans > 0 {
				wantEqual(t, "shadow ban", true, s.bans[0].Shadow)
			}
			wantEqual(t, "warning", false, s.spend(c).Warn)
			began := noon.Add(time.Hour)
			s.ApplyBan(petcat.Ban{
				Key:       1,
				Account:   1,
				Level:     1,
				StartedAt: began,
				EndsAt:    began.Add(time.Minute),
			})
			s.clock.Advance(time.Hour)
			wantEqual(t, "the outcome during another node's ban", ratelimit.Allowed, s.spend(c).Outcome)
		}, func(o *ratelimit.Options) { o.BanMode = mode })
	}
}

// Bans that other nodes imposed, or that were lifted or loaded.
func TestApplyBan(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
		ban := petcat.Ban{
			Key:       1,
			Account:   1,
			Level:     2,
			StartedAt: noon,
			EndsAt:    noon.Add(5 * time.Minute),
		}
		shadow, lifted, older := ban, ban, ban
		shadow.Shadow = true
		lifted.LiftedAt = noon.Add(time.Second)
		older.StartedAt, older.EndsAt = noon.Add(-time.Hour), noon.Add(-time.Hour).Add(5*time.Minute)
		for _, step := range []struct {
			what    string
			ban     petcat.Ban
			outcome ratelimit.Outcome
		}{
			{"a shadow ban is ignored", shadow, ratelimit.Allowed},
			{"a ban", ban, ratelimit.Banned},
			{"an older ban changes nothing", older, ratelimit.Banned},
			{"lifted", lifted, ratelimit.Allowed},
			{"the ban before it was lifted", ban, ratelimit.Allowed},
		} {
			s.ApplyBan(step.ban)
			wantEqual(t, step.what, step.outcome, s.spend(c).Outcome)
		}
		s.clock.Advance(time.Minute)
		s.untilBanned(c, 1_000)
		wantEqual(t, "the level after a lifted ban", 3, s.bans[0].Level)
	})
}

// A ban that was imposed before the clock was set back does not last longer.
func TestBanAfterClockIsSetBack(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
		s.untilBanned(c, 1_000)
		s.clock.Step(-365 * 24 * time.Hour)
		s.clock.Advance(time.Minute + time.Second)
		wantEqual(t, "a minute after the clock was set back", ratelimit.Allowed, s.spend(c).Outcome)
	})
}

// saver is a ban store that may fail.
type saver struct {
	*ratelimit.Limiter

	log   strings.Builder
	mu    sync.Mutex
	fail  func(ctx context.Context, b petcat.Ban) error // guarded by mu; nil: no failure
	asked int                                           // guarded by mu
	saved []petcat.KeyID                                // guarded by mu
}

func (s *saver) SaveBan(ctx context.Context, b petcat.Ban) (err error) {
	s.mu.Lock()
	s.asked++
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		err = fail(ctx, b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.saved = append(s.saved, b.Key)
	}
	return err
}

func (s *saver) set(fail func(ctx context.Context, b petcat.Ban) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

// ban bans keys, whose quota is 0.
func (s *saver) ban(t *testing.T, keys ...petcat.KeyID) {
	t.Helper()
	for n := range 102 {
		for _, key := range keys {
			if _, err := s.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: key}); err != nil {
				t.Fatal(err)
			}
		}
		if n == 0 {
			time.Sleep(petcat.EarlyRetryGrace + 1)
		}
	}
	synctest.Wait()
}

// wantSaved checks the saved bans and the number of calls since the last check.
func (s *saver) wantSaved(t *testing.T, asked int, keys ...petcat.KeyID) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.saved)
	if !slices.Equal(s.saved, keys) || s.asked != asked {
		t.Errorf("saved %v with %d calls, want %v with %d", s.saved, s.asked, keys, asked)
	}
	s.saved, s.asked = nil, 0
}

func TestBansAreSaved(t *testing.T) {
	failing := func(context.Context, petcat.Ban) error { return errors.New("down") }
	for name, test := range map[string]func(t *testing.T, s *saver){
		"immediately": func(t *testing.T, s *saver) {
			s.ban(t, 1, 2)
			s.wantSaved(t, 2, 1, 2)
		},
		"retried until it is saved": func(t *testing.T, s *saver) {
			s.set(failing)
			s.ban(t, 1)
			time.Sleep(9*time.Second + time.Millisecond)
			s.wantSaved(t, 10)
			s.set(nil)
			time.Sleep(time.Second)
			s.wantSaved(t, 1, 1)
		},
		"retried until it ends": func(t *testing.T, s *saver) {
			s.set(failing)
			s.ban(t, 1)
			time.Sleep(time.Hour)
			s.wantSaved(t, 62)
		},
		"a stuck save delays no other": func(t *testing.T, s *saver) {
			s.set(func(ctx context.Context, b petcat.Ban) error {
				if b.Key == 1 {
					<-ctx.Done()
				}
				return ctx.Err()
			})
			s.ban(t, 1, 2)
			s.wantSaved(t, 2, 2)
		},
		"deleted key": func(t *testing.T, s *saver) {
			s.set(func(context.Context, petcat.Ban) error { return petcat.Errorf(petcat.CodeNotFound, "no such key") })
			s.ban(t, 1)
			time.Sleep(time.Minute)
			s.wantSaved(t, 1)
			if n := strings.Count(s.log.String(), "level=ERROR"); n != 1 {
				t.Errorf("%d errors were logged, want 1: %s", n, &s.log)
			}
		},
		"retried once at the end": func(t *testing.T, s *saver) {
			s.set(failing)
			s.ban(t, 1)
			s.wantSaved(t, 1)
			s.set(nil)
			defer s.wantSaved(t, 1, 1)
			s.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &saver{}
				s.Limiter = ratelimit.New(ratelimit.Options{
					Clock: clock.NewSystem(), Logger: slog.New(slog.NewTextHandler(&s.log, nil)), DayUsed: noUsage,
					BanMode: petcat.EnforceBans, Banned: func(petcat.Ban) {}, SaveBan: s.SaveBan,
				})
				test(t, s)
				if name != "retried once at the end" {
					s.Close()
				}
			})
		})
	}
}

// Early retries are counted within a clock minute.
func TestEarlyRetriesOfOneMinute(t *testing.T) {
	eachLimiter(t, func(t *testing.T, s *service) {
		c := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 1, PerDay: 1_000_000}}
		for range 10 {
			wantEqual(t, "early retries", 99, s.untilBanned(c, 99))
			s.clock.Advance(time.Minute)
		}
		wantEqual(t, "bans", 0, len(s.bans))
	})
}
