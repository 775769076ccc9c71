package petcat_test

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// ban imposes the ban that follows last at a moment, as the limiters do.
func ban(last petcat.Ban, at time.Time) petcat.Ban {
	level := last.Next(at)
	return petcat.Ban{
		Key:       1,
		Level:     level,
		StartedAt: at,
		EndsAt:    at.Add(petcat.BanDuration(level)),
	}
}

func TestBanLadderUp(t *testing.T) {
	var last petcat.Ban
	at := noon
	for i, want := range []time.Duration{
		time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 6 * time.Hour, 6 * time.Hour,
	} {
		last = ban(last, at)
		if got := last.EndsAt.Sub(last.StartedAt); got != want {
			t.Errorf("ban %d lasts %s, want %s", i+1, got, want)
		}
		at = last.EndsAt
	}
	for level, want := range map[int]time.Duration{
		-1: time.Minute, 0: time.Minute, 6: 6 * time.Hour, 1 << 30: 6 * time.Hour,
	} {
		if got := petcat.BanDuration(level); got != want {
			t.Errorf("level %d lasts %s, want %s", level, got, want)
		}
	}
}

func TestBanLadderDown(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name  string
		level int
		clean time.Duration
		want  int
	}{
		{"never banned", 0, 0, 1},
		{"ban ended now", 1, 0, 2},
		{"almost a day later", 3, day - 1, 4},
		{"a day later", 3, day, 3},
		{"two days later", 3, 2 * day, 2},
		{"a hundred years later", 5, 36_500 * day, 1},
		{"highest level", 5, 0, 5},
		{"a day after the highest level", 5, day, 5},
		{"during the ban", 2, -time.Minute, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := petcat.Ban{Level: c.level, StartedAt: noon.Add(-time.Hour), EndsAt: noon}
			if got := b.Next(noon.Add(c.clean)); got != c.want {
				t.Errorf("next level %d, want %d", got, c.want)
			}
		})
	}
	t.Run("a lifted ban ended when it was lifted", func(t *testing.T) {
		b := petcat.Ban{
			Level:     2,
			StartedAt: noon,
			EndsAt:    noon.Add(6 * time.Hour),
			LiftedAt:  noon.Add(time.Hour),
		}
		if early, late := b.Next(noon.Add(25*time.Hour-1)), b.Next(noon.Add(25*time.Hour)); early != 3 || late != 2 {
			t.Errorf("levels %d and %d, want 3 and 2", early, late)
		}
	})
}

func TestBanState(t *testing.T) {
	end := noon.Add(time.Minute)
	for _, c := range []struct {
		name string
		ban  petcat.Ban
		at   time.Time
		want petcat.BanState
	}{
		{"active", petcat.Ban{EndsAt: end}, noon, petcat.BanActive},
		{"just before the end", petcat.Ban{EndsAt: end}, end.Add(-1), petcat.BanActive},
		{"at the end", petcat.Ban{EndsAt: end}, end, petcat.BanEnded},
		{"lifted", petcat.Ban{EndsAt: end, LiftedAt: noon}, noon, petcat.BanLifted},
		{"shadow", petcat.Ban{EndsAt: end, Shadow: true}, noon, petcat.BanShadow},
		{"none", petcat.Ban{}, noon, petcat.BanEnded},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.ban.State(c.at); got != c.want {
				t.Errorf("state %s, want %s", got, c.want)
			}
			if got := c.ban.Active(c.at); got != (c.want == petcat.BanActive) {
				t.Errorf("Active() = %v in state %s", got, c.want)
			}
		})
	}
}

func TestBanThreshold(t *testing.T) {
	for perMinute, want := range map[int64]int64{
		1: 100, 60: 100, 101: 101, 1_000: 1_000, petcat.MaxQuota: petcat.MaxQuota,
	} {
		if got := petcat.BanThreshold(petcat.Quota{PerMinute: perMinute}); got != want {
			t.Errorf("%d a minute: %d, want %d", perMinute, got, want)
		}
	}
}

// TestLiftBan: only a ban that rejects requests can be lifted.
func TestLiftBan(t *testing.T) {
	active := petcat.Ban{Key: 1, Level: 1, StartedAt: noon, EndsAt: noon.Add(time.Minute)}
	lifted, err := active.Lift("cli:ada", noon)
	if err != nil || lifted.State(noon) != petcat.BanLifted || lifted.LiftedBy != "cli:ada" {
		t.Errorf("got %+v, %v", lifted, err)
	}
	shadow := active
	shadow.Shadow = true
	for name, b := range map[string]petcat.Ban{"never banned": {Key: 1}, "lifted": lifted, "shadow": shadow} {
		if _, err := b.Lift("cli:ada", noon); petcat.CodeOf(err) != petcat.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := active.Lift("cli:ada", active.EndsAt); petcat.CodeOf(err) != petcat.CodeNotFound {
		t.Errorf("ended: %v", err)
	}
}

// TestBanRetention: a ban that is no longer kept would not change the level of the next one.
func TestBanRetention(t *testing.T) {
	for level := range petcat.MaxBanLevel {
		b := petcat.Ban{Level: level + 1, StartedAt: noon.Add(-time.Hour), EndsAt: noon}
		if !b.Forgotten(noon.Add(petcat.BanRetention)) {
			t.Errorf("a ban of level %d is not forgotten", b.Level)
		}
	}
}
