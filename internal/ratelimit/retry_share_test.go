package ratelimit_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/ratelimit"
)

// hasty is a key whose minute is spent by one request.
var hasty = ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 1, PerDay: 1_000}}

// What a node tells others of a key, and what they tell it, counts as long as it must.
func TestRetriesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		spend := func(key petcat.KeyID) ratelimit.Decision {
			t.Helper()
			c := hasty
			c.Key = key
			d, err := r.Spend(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		spend(1)
		spend(1) // refused, and the retries of the next two seconds are borne
		spend(2)
		r.clock.Advance(3 * time.Second)
		for range 3 {
			spend(1)
		}
		for later, want := range map[time.Duration][]ratelimit.KeyRetries{
			0:                {{Account: 1, Key: 1, Retries: 3}},
			55 * time.Second: {{Account: 1, Key: 1, Retries: 3}},
			56 * time.Second: nil,
		} {
			told := r.EarlyRetries(func(id petcat.AccountID) int64 {
				if id != 1 {
					t.Errorf("the time of account %d is asked for", id)
				}
				return noon.Add(3*time.Second + later).UnixNano()
			})
			if !slices.Equal(told, want) {
				t.Errorf("after %s others are told %v, want %v", later, told, want)
			}
		}

		until := noon.Unix() + 4
		r.SetRemoteRetries(ratelimit.KeyRetries{Account: 1, Key: 3, Retries: 100}, until)
		want(t, "keys in memory", r.Stats().Keys, 2)
		r.SetRemoteRetries(ratelimit.KeyRetries{Account: 1, Key: 1, Retries: 26}, until)
		if d := spend(1); !d.Warn || d.EarlyRetriesLeft != 0 {
			t.Errorf("4 early retries here and 26 elsewhere: %+v; want a warning that none is left", d)
		}
		want(t, "what becomes of one more", spend(1).Verdict, ratelimit.Banned)
	})
}

// Who counts the windows has the limiter refuse, and is told of bans as the mode wants.
func TestRefuse(t *testing.T) {
	for mode, tc := range map[petcat.BanMode]struct {
		bans    int
		verdict ratelimit.Verdict // of the request that is one too many
	}{
		petcat.EnforceBans: {bans: 1, verdict: ratelimit.Banned},
		petcat.ShadowBans:  {bans: 1, verdict: ratelimit.MinuteSpent},
		petcat.BansOff:     {bans: 0, verdict: ratelimit.MinuteSpent},
	} {
		t.Run(string(mode), func(t *testing.T) {
			var bans []petcat.Ban
			m := ratelimit.NewMemory(ratelimit.Options{
				Clock: ratelimit.NewClock(clock.NewManual(noon)), Days: leaseAll{}, Bans: mode,
				Banned: func(b petcat.Ban) { bans = append(bans, b) },
			})
			t.Cleanup(func() { _ = m.Close(t.Context()) })
			refuse := func(at time.Time) ratelimit.Decision {
				return m.Refuse(hasty, ratelimit.Usage{Now: at.UnixNano(), Quota: hasty.Quota, MinuteUsed: 1, DayUsed: 1}, ratelimit.MinuteSpent)
			}
			refuse(noon)
			early := noon.Add(3 * time.Second)
			for range 30 {
				want(t, "what becomes of an early retry", refuse(early).Verdict, ratelimit.MinuteSpent)
			}
			want(t, "bans at the threshold", len(bans), 0)
			d := refuse(early)
			want(t, "what becomes of one more", d.Verdict, tc.verdict)
			want(t, "bans past the threshold", len(bans), tc.bans)
			want(t, "the end of the ban now", m.BanEnd(1, 1, early.UnixNano()), d.BanEnds)
			want(t, "the end of the ban of another key", m.BanEnd(1, 2, early.UnixNano()), 0)
			if d.BanEnds != 0 {
				want(t, "the end of the ban when it is over", m.BanEnd(1, 1, d.BanEnds*int64(time.Second)), 0)
			}
		})
	}
}
