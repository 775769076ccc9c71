package counters_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/randomtest"
)

// noon is in a minute's middle.
var noon = time.Date(2026, 3, 10, 12, 0, 30, 0, time.UTC)

const (
	epoch  = 7
	series = 11
)

func today(at time.Time) int64 { return petcat.Day.Index(at.Unix()) }

// leased is an account whose day is known, with so many leased and nothing used.
func leased(n int64) counters.Account {
	var a counters.Account
	a.Charge(noon.UnixNano(), epoch, counters.Charge{Series: series})
	a.Grant(epoch, counters.Grant{Day: today(noon), Series: series, Granted: n, Count: n})
	return a
}

// TestCharge: what is admitted, and what of it is leased and owed.
func TestCharge(t *testing.T) {
	minute := petcat.Minute.Index(noon.Unix())
	for name, tc := range map[string]struct {
		leased int64
		charge counters.Charge
		want   counters.Facts // without Now, Series, Known and Granted
	}{
		"room in both": {
			100,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 1_000},
			counters.Facts{Admitted: 5, MinuteUsed: 5, Day: counters.Day{Count: 100, Free: 95}},
		},
		"the minute has less": {
			100,
			counters.Charge{Requests: 5, PerMinute: 3, PerDay: 1_000},
			counters.Facts{Admitted: 3, MinuteUsed: 3, Day: counters.Day{Count: 100, Free: 97}},
		},
		"the day has less": {
			100,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 2},
			counters.Facts{Admitted: 2, MinuteUsed: 2, Day: counters.Day{Count: 100, Free: 98}},
		},
		"less is leased": {
			4,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 1_000},
			counters.Facts{Admitted: 4, MinuteUsed: 4, Day: counters.Day{Count: 4}},
		},
		"less is leased, and the store is away": {
			4,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 1_000, Overdraw: true},
			counters.Facts{Admitted: 5, MinuteUsed: 5, Day: counters.Day{Count: 4, Owed: 1}},
		},
		"the store is away, and the day is spent": {
			4,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 4, Overdraw: true},
			counters.Facts{Admitted: 4, MinuteUsed: 4, Day: counters.Day{Count: 4}},
		},
		"reported of this minute": {
			100,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 1_000, Reported: 57, Minute: minute},
			counters.Facts{Admitted: 3, MinuteUsed: 60, Day: counters.Day{Count: 100, Free: 97}},
		},
		"reported of this minute, past its limit": {
			100,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 1_000, Reported: 90, Minute: minute},
			counters.Facts{MinuteUsed: 90, Day: counters.Day{Count: 100, Free: 100}},
		},
		"reported of the minute before": {
			100,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 1_000, Reported: 57, Minute: minute - 1},
			counters.Facts{Admitted: 5, MinuteUsed: 5, Day: counters.Day{Count: 100, Free: 95}},
		},
		"leased elsewhere of this day": {
			4,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 1_000, Minute: minute, DayUsed: 998, Overdraw: true},
			counters.Facts{Admitted: 5, MinuteUsed: 5, Day: counters.Day{Count: 998, Owed: 1}},
		},
		"less is leased elsewhere than is known": {
			100,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 1_000, Minute: minute, DayUsed: 99},
			counters.Facts{Admitted: 5, MinuteUsed: 5, Day: counters.Day{Count: 100, Free: 95}},
		},
		"leased elsewhere of the day before": {
			100,
			counters.Charge{Requests: 5, PerMinute: 60, PerDay: 1_000, Minute: minute - 1_440, DayUsed: 998},
			counters.Facts{Admitted: 5, MinuteUsed: 5, Day: counters.Day{Count: 100, Free: 95}},
		},
		"no limit at all": {
			100,
			counters.Charge{Requests: 5, PerMinute: -2, PerDay: -3},
			counters.Facts{Day: counters.Day{Count: 100, Free: 100}},
		},
	} {
		a := leased(tc.leased)
		tc.charge.Series = 99 // not the first: the account has one
		tc.want.Now = noon.UnixNano()
		tc.want.Day.Series, tc.want.Day.Known, tc.want.Day.Granted = series, true, tc.leased
		if diff := cmp.Diff(tc.want, a.Charge(noon.UnixNano(), epoch, tc.charge)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSeries: when the day is forgotten, and when it goes on.
func TestSeries(t *testing.T) {
	tomorrow := noon.Add(24 * time.Hour)
	known := leased(100).Day
	kept := counters.Day{Series: series, Known: true, Count: 8, Granted: 5, Free: 5}
	for name, tc := range map[string]struct {
		forTomorrow bool
		at          time.Time
		epoch       int64
		want        counters.Day
	}{
		"the same day":                      {false, noon.Add(time.Hour), epoch, known},
		"the next day":                      {false, tomorrow, epoch, counters.Day{Series: series, Known: true}},
		"the next day, epoch over":          {false, tomorrow, epoch + 1, counters.Day{Series: 12}},
		"the next day, granted":             {true, tomorrow, epoch, kept},
		"the next day, granted, epoch over": {true, tomorrow, epoch + 1, counters.Day{Series: 12}},
		"the epoch is over":                 {true, noon, epoch + 1, counters.Day{Series: 12}},
		"two days later":                    {true, tomorrow.Add(24 * time.Hour), epoch, counters.Day{Series: 12}},
		"the day before":                    {true, noon.Add(-24 * time.Hour), epoch, counters.Day{Series: 12}},
	} {
		a := leased(100)
		if tc.forTomorrow {
			a.Grant(epoch, counters.Grant{Day: today(tomorrow), Series: series, Granted: 5, Count: 8})
			a.Grant(epoch, counters.Grant{Day: today(tomorrow), Series: series, Granted: 5, Count: 3})
		}
		f := a.Charge(tc.at.UnixNano(), tc.epoch, counters.Charge{Series: 12})
		if diff := cmp.Diff(tc.want, f.Day); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMinuteTurns: a step of the clock gives one window at most.
func TestMinuteTurns(t *testing.T) {
	a := leased(1_000)
	for i, step := range []struct {
		at   time.Duration
		want int64
	}{
		{0, 60},
		{time.Minute, 60},
		{0, 0},            // set back: what is counted is now called by this minute
		{time.Minute, 60}, // and nobody waits until the clock has caught up
		{5 * time.Hour, 60},
		{time.Hour, 0},
		{time.Hour + time.Minute, 60},
	} {
		f := a.Charge(noon.Add(step.at).UnixNano(), epoch, counters.Charge{Requests: 100, PerMinute: 60, PerDay: 1_000, Series: series})
		if f.Admitted != step.want {
			t.Errorf("step %d, %s: admitted %d, want %d", i, step.at, f.Admitted, step.want)
		}
	}
}

// TestAccountInvariants holds an account, over random histories, against what must
// never happen.
func TestAccountInvariants(t *testing.T) {
	t.Parallel()
	randomtest.Run(t, func(t *testing.T, seed uint64) {
		random := randomtest.New(seed)
		for history := range 200 {
			h := invariants{random: random, now: noon.UnixNano(), epoch: epoch}
			for step := range 500 {
				if fault := h.step(); fault != "" {
					t.Fatalf("history %d, step %d: %s; %+v", history, step, fault, h.account)
				}
			}
		}
	})
}

type invariants struct {
	random  *randomtest.Steps
	account counters.Account
	now     int64
	epoch   int64
	series  int64 // the last that was offered

	// Of the series that the account is in, on its day.
	day                counters.Day
	dayIndex           int64
	most               int64 // the largest sum that was granted
	admitted, overdraw int64
}

func (h *invariants) step() (fault string) {
	switch h.random.IntN(12) {
	case 0:
		h.now += h.random.Int64N(int64(2 * time.Minute))
	case 1:
		if h.random.IntN(20) == 0 {
			h.now += h.random.Int64N(int64(50*time.Hour)) - int64(25*time.Hour)
		}
	case 2:
		if h.random.IntN(20) == 0 {
			h.epoch++
		}
	case 3, 4, 5:
		return h.grant()
	default:
		return h.charge()
	}
	return ""
}

func (h *invariants) charge() string {
	before := h.account
	h.series++
	c := counters.Charge{
		Requests: h.random.Int64N(8), PerMinute: h.random.Int64N(60), PerDay: h.random.Int64N(300),
		Overdraw: h.random.IntN(3) == 0, Series: h.series,
	}
	if h.random.IntN(4) == 0 {
		c.Reported, c.Minute, c.DayUsed = h.random.Int64N(5), before.Minute, h.random.Int64N(300)
	}
	f := h.account.Charge(h.now, h.epoch, c)
	if f.Day.Series != h.day.Series || h.account.DayIndex != h.dayIndex {
		// A new series, or tomorrow's part of one, of which all that it has was granted.
		h.most, h.admitted, h.overdraw = f.Day.Granted, 0, 0
		if f.Day.Known && before.TomorrowGranted != f.Day.Granted {
			return "a new day knows what nobody granted"
		}
	}
	h.day, h.dayIndex = f.Day, h.account.DayIndex
	h.admitted += f.Admitted
	sameMinute := before.Minute == h.account.Minute
	switch {
	case f.Admitted < 0 || f.Admitted > c.Requests:
		return "more is admitted than asked"
	case f.Admitted > 0 && (f.MinuteUsed > c.PerMinute || f.Day.Used() > c.PerDay):
		return "a window is brought past its limit"
	case f.Admitted > 0 && !f.Day.Known:
		return "admitted on a day that is not known"
	case sameMinute && f.MinuteUsed < before.Used+f.Admitted:
		return "the minute's use fell"
	case !c.Overdraw && h.account.Day.Owed > before.Day.Owed:
		return "owed more without an overdraft"
	case h.admitted > h.most+f.Day.Owed:
		return "more is admitted than was granted and is owed"
	}
	return h.both()
}

func (h *invariants) grant() string {
	before := h.account
	g := counters.Grant{
		Day: h.account.DayIndex + h.random.Int64N(4) - 1, Series: h.account.Day.Series,
		Granted: max(0, h.most+h.random.Int64N(30)-10), Count: h.random.Int64N(300),
	}
	if h.random.IntN(8) == 0 {
		g.Series = h.random.Int64N(h.series + 1)
	}
	e := h.epoch - h.random.Int64N(2)
	h.account.Grant(e, g)
	after := h.account
	if g.Day == before.DayIndex && g.Series == before.Day.Series && e == before.Epoch {
		h.most = max(h.most, g.Granted)
	} else if after.Day != before.Day {
		return "a grant of something else has changed the day"
	}
	h.day = after.Day
	if after.Day.Granted != h.most && after.Day.Known {
		return "not the largest sum is known"
	}
	if before.Day.Known && after.Day.Granted == before.Day.Granted && after.Day.Used() < before.Day.Used() {
		return "a late grant has lowered what is used"
	}
	h.account.Grant(e, g)
	if h.account != after {
		return "a grant that was repeated has changed something"
	}
	return h.both()
}

// both is what always holds.
func (h *invariants) both() string {
	d := h.account.Day
	switch {
	case d.Free < 0 || d.Owed < 0 || d.Free > d.Granted:
		return "an impossible day"
	case d.Free > 0 && d.Owed > 0:
		return "something is owed while something is free"
	case !d.Known && d != counters.Day{Series: d.Series}:
		return "a day that is not known has counts"
	}
	return ""
}

// TestNewID: implementations keep an id in 48 bits, and take 0 for none.
func TestNewID(t *testing.T) {
	seen := make(map[int64]bool)
	for range 1_000 {
		id := counters.NewID()
		if id < 1 || id >= 1<<48 {
			t.Fatalf("the id %d", id)
		}
		seen[id] = true
	}
	if len(seen) < 1_000 {
		t.Errorf("%d of 1,000 ids are new", len(seen))
	}
}
