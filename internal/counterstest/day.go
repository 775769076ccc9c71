package counterstest

import (
	"fmt"
	"testing"
	"time"

	"petcat"
	"petcat/internal/counters"
)

func testDay(t *testing.T, start Start) {
	big := func(requests int64) counters.Charge {
		c := free(requests)
		c.PerMinute = 10_000
		return c
	}
	peek := func(r *rig) counters.Day { return r.charge(1, big(0)).Day }

	t.Run("until a grant has arrived nothing is admitted", func(t *testing.T) {
		r := newRig(t, start)
		c := big(10)
		c.Overdraw = true
		wantFacts(t, "the first charge", r.charge(0, c), counters.Facts{Day: counters.Day{Series: 11}})
		c.Series = 12
		f := r.charge(1, c)
		wantFacts(t, "a charge with another series", f, counters.Facts{Day: counters.Day{Series: 11}})
		r.grant(1, counters.Grant{Account: account, Day: dayOf(f.Now), Series: 12, Granted: 5, Count: 5})
		wantEqual(t, "a grant of the series that did not begin", peek(r), counters.Day{Series: 11})
		r.grant(1, counters.Grant{Account: account, Day: dayOf(f.Now), Series: 11, Granted: 5, Count: 7})
		wantEqual(t, "a grant", peek(r), counters.Day{Series: 11, Known: true, Count: 7, Granted: 5, Free: 5})
	})

	t.Run("a grant of nothing makes the day known", func(t *testing.T) {
		r := newRig(t, start)
		f := r.charge(0, big(0))
		r.grant(0, counters.Grant{Account: account, Day: dayOf(f.Now), Series: 11, Granted: 0, Count: 1_000})
		wantFacts(t, "a charge", r.charge(0, big(5)), counters.Facts{Day: counters.Day{Series: 11, Known: true, Count: 1_000}})
	})

	t.Run("a grant tells a sum, and does nothing twice", func(t *testing.T) {
		r := newRig(t, start)
		today := dayOf(r.begin(big(0), 5).Now)
		r.charge(0, big(3))
		grant := func(granted, count int64) {
			r.grant(0, counters.Grant{Account: account, Day: today, Series: 11, Granted: granted, Count: count})
		}
		grant(10, 30)
		want := counters.Day{Series: 11, Known: true, Count: 30, Granted: 10, Free: 7}
		wantEqual(t, "a second block", peek(r), want)
		grant(10, 30)
		wantEqual(t, "the same again", peek(r), want)
		grant(5, 900)
		wantEqual(t, "a smaller sum", peek(r), want)
		grant(10, 20)
		wantEqual(t, "the same sum with an older count", peek(r), want)
		grant(10, 40)
		want.Count = 40
		wantEqual(t, "the same sum with a later count", peek(r), want)
		grant(15, 35)
		want.Count, want.Granted, want.Free = 35, 15, 12
		wantEqual(t, "more, after others have returned some", peek(r), want)
		r.grant(0, counters.Grant{Account: account, Day: today - 1, Series: 11, Granted: 100, Count: 100})
		r.grant(0, counters.Grant{Account: account, Day: today + 2, Series: 11, Granted: 100, Count: 100})
		r.grant(0, counters.Grant{Account: account + 64*63*61, Day: today, Series: 11, Granted: 100, Count: 100})
		wantEqual(t, "grants of other days and accounts", peek(r), want)
	})

	t.Run("only what is granted is admitted", func(t *testing.T) {
		r := newRig(t, start)
		r.begin(big(0), 5)
		f := r.charge(0, big(9))
		wantFacts(t, "a charge", f, counters.Facts{Admitted: 5, MinuteUsed: 5, Day: counters.Day{Series: 11, Known: true, Count: 5, Granted: 5}})
	})

	t.Run("what is overdrawn is owed, and paid first", func(t *testing.T) {
		r := newRig(t, start)
		today := dayOf(r.begin(big(0), 5).Now)
		c := big(9)
		c.Overdraw = true
		wantFacts(t, "a charge", r.charge(0, c), counters.Facts{Admitted: 9, MinuteUsed: 9, Day: counters.Day{Series: 11, Known: true, Count: 5, Granted: 5, Owed: 4}})
		r.grant(0, counters.Grant{Account: account, Day: today, Series: 11, Granted: 7, Count: 7})
		wantEqual(t, "a grant of less than is owed", peek(r), counters.Day{Series: 11, Known: true, Count: 7, Granted: 7, Owed: 2})
		r.grant(0, counters.Grant{Account: account, Day: today, Series: 11, Granted: 17, Count: 17})
		wantEqual(t, "a grant of more", peek(r), counters.Day{Series: 11, Known: true, Count: 17, Granted: 17, Free: 8})
		c.Requests, c.PerDay = 100, 20
		f := r.charge(0, c)
		wantFacts(t, "a charge past the day", f, counters.Facts{Admitted: 11, MinuteUsed: 20, Day: counters.Day{Series: 11, Known: true, Count: 17, Granted: 17, Owed: 3}})
		wantEqual(t, "used", f.Day.Used(), 20)
		wantEqual(t, "admitted when the rest of the day is owed", r.charge(0, c).Admitted, 0)
	})

	t.Run("what a node has leased for itself is no less", func(t *testing.T) {
		r := newRig(t, start)
		minute := minuteOf(r.begin(big(0), 5).Now)
		for _, step := range []struct{ minute, used, count int64 }{
			{minute, 4, 5}, {minute, 30, 30}, {minute, 20, 30}, {minute - 1_440, 50, 30}, {minute + 1_440, 50, 30}, {minute - 1, 31, 31},
		} {
			c := big(0)
			c.Minute, c.DayUsed = step.minute, step.used
			wantEqual(t, "the day", r.charge(0, c).Day, counters.Day{Series: 11, Known: true, Count: step.count, Granted: 5, Free: 5})
		}
		c := big(1_000)
		c.Minute, c.DayUsed, c.Overdraw = minute, 990, true
		wantEqual(t, "admitted without leases of a day that is nearly used up", r.charge(1, c).Admitted, 15)
		unknown := big(0)
		unknown.Account += petcat.AccountID(r.Nodes[0].Partitions())
		unknown.Minute, unknown.DayUsed = minute, 7
		wantEqual(t, "a day that is not known", r.charge(0, unknown).Day, counters.Day{Series: 11})
	})

	t.Run("the next day goes on with the series, and with tomorrow's grant", func(t *testing.T) {
		r := newRig(t, start)
		today := dayOf(r.begin(big(0), 50).Now)
		r.Step(day)
		c := big(3)
		c.Series = 12
		wantFacts(t, "a day without a grant", r.charge(0, c), counters.Facts{Day: counters.Day{Series: 11, Known: true}})
		c.Overdraw = true
		owing := counters.Day{Series: 11, Known: true, Owed: 3}
		wantFacts(t, "a day without a grant, while the store is away", r.charge(0, c), counters.Facts{Admitted: 3, MinuteUsed: 3, Day: owing})
		c.Overdraw = false
		tomorrow := func(series, granted, count int64) {
			r.grant(0, counters.Grant{Account: account, Day: today + 2, Series: series, Granted: granted, Count: count})
		}
		tomorrow(12, 90, 90) // of another series
		tomorrow(11, 5, 6)
		tomorrow(11, 4, 9) // late
		wantEqual(t, "today, when tomorrow has a grant", peek(r), owing)
		r.Step(day)
		c.Series = 13
		wantFacts(t, "a day with a grant", r.charge(0, c), counters.Facts{Admitted: 3, MinuteUsed: 3, Day: counters.Day{Series: 11, Known: true, Count: 6, Granted: 5, Free: 2}})
		r.grant(0, counters.Grant{Account: account, Day: today + 2, Series: 11, Granted: 8, Count: 9})
		wantEqual(t, "today, after more", peek(r), counters.Day{Series: 11, Known: true, Count: 9, Granted: 8, Free: 5})
		tomorrow2 := counters.Grant{Account: account, Day: today + 3, Series: 11, Granted: 5, Count: 5}
		r.grant(0, tomorrow2)
		r.Step(2 * day)
		c.Series = 14
		wantFacts(t, "a day for which another's grant was kept", r.charge(0, c), counters.Facts{Day: counters.Day{Series: 14}})
	})

	t.Run("a grant for a day that has begun unseen", func(t *testing.T) {
		r := newRig(t, start)
		today := dayOf(r.begin(big(0), 50).Now)
		r.Step(day)
		r.grant(0, counters.Grant{Account: account, Day: today + 1, Series: 11, Granted: 5, Count: 5})
		r.grant(0, counters.Grant{Account: account, Day: today, Series: 11, Granted: 60, Count: 60})
		wantFacts(t, "its first charge", r.charge(0, big(3)), counters.Facts{Admitted: 3, MinuteUsed: 3, Day: counters.Day{Series: 11, Known: true, Count: 5, Granted: 5, Free: 2}})
	})
}

func testClock(t *testing.T, start Start) {
	for _, by := range []time.Duration{time.Minute, time.Hour, day, 40 * day} {
		t.Run("forward and back by "+by.String(), func(t *testing.T) {
			r := newRig(t, start)
			spend := func(what string, want int64) {
				t.Helper()
				f := r.begin(free(0), 1_000)
				if f.Day.Free < 60 {
					t.Fatalf("%s: %+v", what, f)
				}
				wantEqual(t, what, r.charge(0, free(100)).Admitted, want)
			}
			spend("at first", 60)
			r.Step(by)
			spend("after a step forward", 60)
			r.Step(-by)
			spend("after the step back", 0)
			r.Step(time.Minute)
			spend("in the next minute", 60)
			r.Step(-by)
			spend("after one more step back", 0)
			r.Step(time.Minute)
			spend("in the minute after that", 60)
		})
	}

	// A minute is spent at :18, and the clock is set back at :30. From then on it is a minute
	// or two until there is another one: it depends on whether somebody asks in the first.
	for asks, want := range map[bool]int64{true: 60, false: 0} {
		t.Run(fmt.Sprintf("back, and somebody asks in that minute: %t", asks), func(t *testing.T) {
			r := newRig(t, start)
			r.begin(free(0), 1_000)
			wantEqual(t, "at first", r.charge(0, free(100)).Admitted, 60)
			r.Step(12*time.Second - time.Hour)
			if asks {
				wantEqual(t, "after the step back", r.charge(0, free(100)).Admitted, 0)
			}
			r.Step(30 * time.Second)
			wantEqual(t, "in the next minute", r.charge(0, free(100)).Admitted, want)
			r.Step(time.Minute)
			wantEqual(t, "in the minute after that", r.charge(0, free(100)).Admitted, 60)
		})
	}
}
