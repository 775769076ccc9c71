package ratelimit_test

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

func usage(now int64, q petcat.Quota, minuteUsed, dayUsed int64) ratelimit.Usage {
	return ratelimit.Usage{QuotaCount: petcat.QuotaCount{Now: now, MinuteUsed: minuteUsed, DayUsed: dayUsed}, Quota: q}
}

func TestDecisionAt(t *testing.T) {
	begin := noon.Add(18 * time.Second)
	d := usage(begin.UnixNano(), free, 10, 970).Decide(ratelimit.Allowed, 1)
	minute, day := noon.Unix()+60, noon.Unix()+12*3600
	fresh := func(limit, reset int64) ratelimit.WindowState {
		return ratelimit.WindowState{Limit: limit, Reset: reset}
	}
	for _, c := range []struct {
		name        string
		later       time.Duration
		minute, day ratelimit.WindowState
	}{
		{"earlier", -time.Second, d.Minute, d.Day},
		{"in the same window", 41 * time.Second, d.Minute, d.Day},
		{"in the next minute", 42 * time.Second, fresh(60, minute+60), d.Day},
		{"on the next day", 12 * time.Hour, fresh(60, day+60), fresh(1_000, day+24*3600)},
	} {
		got := d.At(begin.Add(c.later).UnixNano())
		wantEqual(t, c.name+": the minute", c.minute, got.Minute)
		wantEqual(t, c.name+": the day", c.day, got.Day)
		effective, window := c.day, petcat.Day
		if c.minute.Remaining() < c.day.Remaining() {
			effective, window = c.minute, petcat.Minute
		}
		wantEqual(t, c.name+": the effective state", effective, got.Effective)
		wantEqual(t, c.name+": the effective window", window, got.Window)
	}
}

// A decision shows the used-up window if the ban ends earlier: a client that returned when the ban ends
// would be rejected again.
func TestBanEndsBeforeSpentWindow(t *testing.T) {
	u := usage(noon.UnixNano()+1e9/2, free, 0, 1_000)
	day := u.Decide(ratelimit.DaySpent, 1)
	for end, limit := range map[int64]int64{day.Day.Reset - 1: 1_000, day.Day.Reset: 1_000, day.Day.Reset + 1: 60} {
		d := u.Banned(end, 1)
		wantEqual(t, "the outcome", ratelimit.Banned, d.Outcome)
		wantEqual(t, "the ban's end", end, d.BanEnds)
		wantEqual(t, "the reset", max(end, day.Day.Reset), d.Effective.Reset)
		wantEqual(t, "the limit", limit, d.Effective.Limit)
		wantEqual(t, "the day ends no earlier than the ban", limit == 1_000, d.SpentBeyondBan)
		retryAfter := day.RetryAfter
		if limit != 1_000 {
			retryAfter = end - noon.Unix()
		}
		wantEqual(t, "Retry-After", retryAfter, d.RetryAfter)
	}
}

// Retry-After is never too short, even for a client with a fast clock.
func TestRetryAfter(t *testing.T) {
	for after, seconds := range map[time.Duration]int64{
		0: 61, 49 * time.Millisecond: 61, 50 * time.Millisecond: 60, time.Second: 60, 1100 * time.Millisecond: 59,
		59*time.Second + 900*time.Millisecond: 1, time.Minute - 1: 1,
	} {
		u := usage(noon.Add(after).UnixNano(), petcat.Quota{PerMinute: 1, PerDay: 10}, 1, 1)
		wantEqual(t, "Retry-After after "+after.String(), seconds, u.Decide(u.NextOutcome(), 1).RetryAfter)
	}
}

// Keys are spread over the first minute of the next day, and each key always gets the same delay.
func TestDayJitter(t *testing.T) {
	u := usage(noon.UnixNano()+1e9/2, free, 0, 1_000)
	seen := make(map[int64]int)
	for key := range petcat.KeyID(6_100) {
		d := u.Decide(ratelimit.DaySpent, key)
		seen[d.RetryAfter-12*3600]++
		wantEqual(t, "the same key again", d.RetryAfter, u.Decide(ratelimit.DaySpent, key).RetryAfter)
	}
	for second := range int64(61) {
		if n := seen[second]; n < 50 || n > 200 {
			t.Errorf("%d of 6,100 keys return %d s after midnight", n, second)
		}
	}
	wantEqual(t, "different delays", 61, len(seen))
}
