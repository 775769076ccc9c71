package ratelimit_test

import (
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

func TestDecisionAt(t *testing.T) {
	begin := noon.Add(18 * time.Second)
	quota := petcat.Quota{PerMinute: 60, PerDay: 1_000}
	d := ratelimit.Usage{Now: begin.UnixNano(), Quota: quota, MinuteUsed: 10, DayUsed: 970}.Answer(ratelimit.Admitted, 1)
	minute, day := noon.Unix()+60, noon.Unix()+12*3600
	for _, c := range []struct {
		name        string
		later       time.Duration
		minute, day ratelimit.WindowState
	}{
		{"earlier", -time.Second, d.Minute, d.Day},
		{"in the same window", 41 * time.Second, d.Minute, d.Day},
		{"in the next minute", 42 * time.Second, ratelimit.WindowState{Limit: 60, Remaining: 60, Reset: minute + 60}, d.Day},
		{
			"on the next day", 12 * time.Hour,
			ratelimit.WindowState{Limit: 60, Remaining: 60, Reset: day + 60},
			ratelimit.WindowState{Limit: 1_000, Remaining: 1_000, Reset: day + 24*3600},
		},
	} {
		got := d.At(begin.Add(c.later).UnixNano())
		effective := c.day
		if c.minute.Remaining < c.day.Remaining {
			effective = c.minute
		}
		want(t, c.name, got, ratelimit.Decision{
			Now: begin.Add(max(0, c.later)).UnixNano(), Minute: c.minute, Day: c.day, Effective: effective,
		})
	}
}

// A ban is shown with the window that is spent when that ends no earlier: who comes back
// at the end of the ban would be refused once more.
func TestBannedUntilAWindowEnds(t *testing.T) {
	u := ratelimit.Usage{Now: noon.UnixNano(), Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}, DayUsed: 1_000}
	day := u.Answer(ratelimit.DaySpent, 1)
	for end, limit := range map[int64]int64{day.Day.Reset - 1: 1_000, day.Day.Reset: 1_000, day.Day.Reset + 1: 60} {
		d := u.Banned(end, 1)
		want(t, "Verdict", d.Verdict, ratelimit.Banned)
		want(t, "BanEnds", d.BanEnds, end)
		want(t, "Reset", d.Effective.Reset, max(end, day.Day.Reset))
		want(t, "Limit", d.Effective.Limit, limit)
		if limit == 1_000 {
			want(t, "RetryAfter", d.RetryAfter, day.RetryAfter)
		} else {
			want(t, "RetryAfter", d.RetryAfter, end-noon.Unix())
		}
	}
}
