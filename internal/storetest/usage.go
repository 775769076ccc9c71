package storetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"petcat"
)

func testUsage(t *testing.T, open Open) {
	t.Run("by the minute, the hour and the day", func(t *testing.T) { testUsageSteps(t, open) })
	t.Run("a batch that is written again counts once", func(t *testing.T) { testUsageOnce(t, open) })
	t.Run("nothing changes as time passes", func(t *testing.T) { testUsageOverTime(t, open) })
	t.Run("is kept as long as promised", func(t *testing.T) { testUsageRetention(t, open) })
	t.Run("killed nodes", func(t *testing.T) { testKilledNodes(t, open) })
	t.Run("last uses of keys", func(t *testing.T) { testKeyUses(t, open) })
	t.Run("two nodes clean up at once", func(t *testing.T) { testUsageOfTwoCleaners(t, open) })
	t.Run("none", func(t *testing.T) {
		f := start(t, open)
		wantEqual(t, "the history", petcat.UsageHistory{}, f.usage(t, f.Store, petcat.UsageQuery{Step: petcat.UsageByDay, To: noon.AddDate(1, 0, 0)}))
	})
}

// usage asks a store, from the beginning of time if q does not say from when.
func (f *fixture) usage(t *testing.T, s Store, q petcat.UsageQuery) petcat.UsageHistory {
	t.Helper()
	if q.To.IsZero() {
		q.To = f.now().Add(24 * time.Hour)
	}
	h, err := s.Usage(t.Context(), q)
	return must(t, h, err)
}

// batch is what a node counted in the minute of a moment, before it ended.
func batch(node string, number int64, at time.Time, counts ...petcat.UsageCount) petcat.UsageBatch {
	for i := range counts {
		counts[i].Minute = petcat.Minute.Index(at.Unix())
	}
	return petcat.UsageBatch{Node: node, Number: number, Until: at, Ended: true, Counts: counts}
}

func (f *fixture) addUsage(t *testing.T, b petcat.UsageBatch) {
	t.Helper()
	if err := f.AddUsage(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) clean(t *testing.T) {
	t.Helper()
	if err := f.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// counted returns counts that are all different.
func counted(n int64) petcat.UsageCounts {
	return petcat.UsageCounts{
		Requests: n, MinuteRefused: 2 * n, DayRefused: 3 * n, BanRefused: 4 * n, KeyRefused: 5 * n, Failed: 6 * n, Bytes: 1_000 * n,
	}
}

// periods returns periods that nothing is missing from.
func periods(at ...petcat.UsagePeriod) []petcat.UsagePeriod { return at }

func testUsageSteps(t *testing.T, open Open) {
	f := start(t, open)
	late := noon.Add(11*time.Hour + 59*time.Minute)
	f.clock.Advance(late.Sub(noon))
	f.addUsage(t, batch("a", 1, late, petcat.UsageCount{Account: 7, UsageCounts: counted(1)}, petcat.UsageCount{Account: 8, UsageCounts: counted(5)}))
	f.addUsage(t, batch("b", 1, late, petcat.UsageCount{Account: 7, UsageCounts: counted(2)}))
	f.addUsage(t, batch("a", 2, late.Add(time.Minute), petcat.UsageCount{Account: 7, UsageCounts: counted(10)}))
	f.addUsage(t, batch("a", 3, late.Add(2*time.Minute), petcat.UsageCount{Account: 600, UsageCounts: counted(3)}))
	midnight := late.Add(time.Minute)
	for range 2 { // out of batches, and out of what they became
		for step, want := range map[petcat.UsageStep][]petcat.UsagePeriod{
			petcat.UsageByHour: periods(petcat.UsagePeriod{Begin: noon.Add(11 * time.Hour), UsageCounts: counted(3)}, petcat.UsagePeriod{Begin: midnight, UsageCounts: counted(10)}),
			petcat.UsageByDay:  periods(petcat.UsagePeriod{Begin: noon.Truncate(24 * time.Hour), UsageCounts: counted(3)}, petcat.UsagePeriod{Begin: midnight, UsageCounts: counted(10)}),
		} {
			wantEqual(t, "of all time", want, f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: step}).Periods)
			wantEqual(t, "from midnight", want[1:], f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: step, From: midnight}).Periods)
			wantEqual(t, "from before midnight", want[1:], f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: step, From: midnight.Add(-time.Second)}).Periods)
			wantEqual(t, "to midnight", want[:1], f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: step, To: midnight}).Periods)
			wantEqual(t, "to past midnight", want, f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: step, To: midnight.Add(time.Second)}).Periods)
		}
		minutes := f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: petcat.UsageByMinute}).Periods
		wantEqual(t, "minutes", periods(petcat.UsagePeriod{Begin: late, UsageCounts: counted(3)}, petcat.UsagePeriod{Begin: midnight, UsageCounts: counted(10)}), minutes)
		f.clock.Advance(11 * time.Minute)
		f.clean(t)
	}
	f.clock.Advance(3 * time.Hour)
	f.clean(t)
	wantEqual(t, "minutes of long ago", 0, len(f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: petcat.UsageByMinute}).Periods))
	wantEqual(t, "hours", 2, len(f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: petcat.UsageByHour}).Periods))
	wantEqual(t, "days", 2, len(f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: petcat.UsageByDay}).Periods))
}

func testUsageOnce(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	first := batch("a", 1, noon, petcat.UsageCount{Account: 7, UsageCounts: counted(1)})
	second := batch("a", 2, noon, petcat.UsageCount{Account: 7, UsageCounts: counted(10)})
	// 1 comes once more after 2: it was on its way for long.
	for _, b := range []petcat.UsageBatch{first, first, second, first, second} {
		f.addUsage(t, b)
		if err := other.AddUsage(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	f.clock.Advance(3 * time.Hour)
	f.clean(t)
	f.addUsage(t, second) // after it was folded
	want := periods(petcat.UsagePeriod{Begin: noon, UsageCounts: counted(11)})
	wantEqual(t, "hours", want, f.usage(t, other, petcat.UsageQuery{Account: 7, Step: petcat.UsageByHour}).Periods)
}

// testUsageOverTime: whatever is merged and folded meanwhile, nothing is lost or counted
// twice.
func testUsageOverTime(t *testing.T, open Open) {
	f := start(t, open)
	random := rand.New(rand.NewPCG(1, 2))
	hours := make(map[petcat.AccountID]map[time.Time]petcat.UsageCounts)
	accounts := []petcat.AccountID{petcat.AllAccounts, 1, 511, 512, 5_000}
	for _, a := range accounts {
		hours[a] = make(map[time.Time]petcat.UsageCounts)
	}
	for n := range int64(120) {
		f.clock.Advance(time.Duration(random.IntN(600)) * time.Second)
		at := f.now().Add(-time.Duration(random.IntN(100)) * time.Minute) // some were away
		var counts []petcat.UsageCount
		for _, a := range accounts {
			c := counted(random.Int64N(1 << random.IntN(40)))
			counts = append(counts, petcat.UsageCount{Account: a, UsageCounts: c})
			hour := petcat.UsageByHour.Floor(at)
			sum := hours[a][hour]
			sum.Add(c)
			hours[a][hour] = sum
		}
		f.addUsage(t, batch("a", n+1, at, counts...))
		if random.IntN(3) == 0 {
			f.clean(t)
		}
	}
	for _, a := range accounts {
		got := make(map[time.Time]petcat.UsageCounts)
		var total, days petcat.UsageCounts
		for _, p := range f.usage(t, f.Store, petcat.UsageQuery{Account: a, Step: petcat.UsageByHour}).Periods {
			got[p.Begin] = p.UsageCounts
			total.Add(p.UsageCounts)
		}
		wantEqual(t, a.String()+" by the hour", hours[a], got)
		for _, p := range f.usage(t, f.Store, petcat.UsageQuery{Account: a, Step: petcat.UsageByDay}).Periods {
			days.Add(p.UsageCounts)
		}
		wantEqual(t, a.String()+" by the day", total, days)
	}
}

func testUsageRetention(t *testing.T, open Open) {
	f := start(t, open)
	count := func(step petcat.UsageStep) int {
		return len(f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: step}).Periods)
	}
	f.addUsage(t, batch("a", 1, noon, petcat.UsageCount{Account: 7, UsageCounts: counted(1)}))
	f.clock.Advance(petcat.UsageHours - 12*time.Hour)
	f.clean(t)
	wantEqual(t, "hours before the end", 1, count(petcat.UsageByHour))
	f.clock.Advance(48 * time.Hour)
	f.clean(t)
	wantEqual(t, "hours after it", 0, count(petcat.UsageByHour))
	f.clock.Advance(petcat.UsageDays - petcat.UsageHours - 48*time.Hour)
	f.clean(t)
	wantEqual(t, "days before the end", 1, count(petcat.UsageByDay))
	f.clock.Advance(72 * time.Hour)
	f.clean(t)
	f.clock.Step(-72 * time.Hour) // else it would not even be asked for
	wantEqual(t, "days after it", 0, count(petcat.UsageByDay))
}

func testKilledNodes(t *testing.T, open Open) {
	f := start(t, open)
	silent := func(node string, at time.Time, number int64, ended bool) {
		f.addUsage(t, petcat.UsageBatch{Node: node, Number: number, Until: at, Ended: ended, Counts: batch("", 0, at, petcat.UsageCount{Account: 7, UsageCounts: counted(1)}).Counts})
	}
	silent("killed", noon, 1, false)
	silent("ended", noon, 1, true)
	silent("serves", noon, 1, false)
	f.clean(t)
	query := petcat.UsageQuery{Account: 7, Step: petcat.UsageByHour}
	if h := f.usage(t, f.Store, query); len(h.Gaps) > 0 || h.Periods[0].Incomplete {
		t.Errorf("while all serve, there are the gaps %v", h)
	}
	f.clock.Advance(2 * time.Hour)
	silent("serves", f.now().Add(-time.Second), 2, false)
	f.clean(t)
	gap := petcat.UsageGap{Node: "killed", From: noon, Until: f.now()}
	h := f.usage(t, f.Store, query)
	wantEqual(t, "the gaps", []petcat.UsageGap{gap}, h.Gaps)
	wantEqual(t, "incomplete at first", true, h.Periods[0].Incomplete)
	f.clock.Advance(time.Hour)
	silent("serves", f.now(), 3, false)
	f.clean(t)
	h = f.usage(t, f.Store, query)
	wantEqual(t, "the gaps later", []petcat.UsageGap{gap}, h.Gaps)
	wantEqual(t, "incomplete an hour later", false, h.Periods[2].Incomplete)
	wantEqual(t, "gaps of another time", 0, len(f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: petcat.UsageByHour, From: gap.Until.Add(time.Second)}).Gaps))
	// It was only stopped, and goes on.
	silent("killed", f.now(), 2, false)
	wantEqual(t, "the gaps in the end", 0, len(f.usage(t, f.Store, query).Gaps))
}

func testKeyUses(t *testing.T, open Open) {
	f := start(t, open)
	a, b := f.account(t, "zoo"), f.account(t, "shop")
	used, _ := f.key(t, a.ID, 1)
	other, _ := f.key(t, b.ID, 2)
	f.key(t, a.ID, 3) // never used
	use := func(number int64, key petcat.KeyID, at time.Time) {
		f.addUsage(t, petcat.UsageBatch{Node: "a", Number: number, Until: at, Keys: []petcat.KeyUse{{Key: key, At: at}}})
	}
	want := func(at time.Time) {
		t.Helper()
		got, err := f.KeyUses(t.Context(), a.ID)
		wantEqual(t, "the last uses", map[petcat.KeyID]time.Time{used.ID: at}, must(t, got, err))
	}
	use(1, used.ID, noon.Add(time.Second))
	use(2, other.ID, noon.Add(time.Minute))
	want(noon.Add(time.Second))
	everybody, err := f.KeyUses(t.Context(), petcat.AllAccounts)
	wantEqual(t, "the last uses of all accounts", map[petcat.KeyID]time.Time{used.ID: noon.Add(time.Second), other.ID: noon.Add(time.Minute)}, must(t, everybody, err))
	f.clock.Advance(time.Hour)
	f.clean(t)
	want(noon.Add(time.Second))
	use(3, used.ID, noon.Add(time.Hour))
	want(noon.Add(time.Hour))
	use(4, used.ID, noon) // told late
	f.clock.Advance(time.Hour)
	f.clean(t)
	want(noon.Add(time.Hour))
}

// testUsageOfTwoCleaners: every node merges and folds.
func testUsageOfTwoCleaners(t *testing.T, open Open) {
	f := start(t, open)
	stores := []Store{f.Store, f.another(t)}
	const batches = 30
	for n := range int64(batches) {
		f.addUsage(t, batch("a", n+1, noon, petcat.UsageCount{Account: 7, UsageCounts: counted(1)}, petcat.UsageCount{Account: petcat.AccountID(600 * n), UsageCounts: counted(2)}))
	}
	f.clock.Advance(3 * time.Hour)
	errs := make(chan error)
	for _, s := range stores {
		go func() { errs <- s.Clean(t.Context()) }()
	}
	for range stores {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	want := periods(petcat.UsagePeriod{Begin: noon, UsageCounts: counted(batches)})
	wantEqual(t, "by the hour", want, f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: petcat.UsageByHour}).Periods)
	wantEqual(t, "minutes that are left", 0, len(f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: petcat.UsageByMinute}).Periods))
}
