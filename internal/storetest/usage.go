package storetest

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

func testUsage(t *testing.T, open Open) {
	t.Run("by hour and day", func(t *testing.T) { testUsageSteps(t, open) })
	t.Run("repeated batches count once", func(t *testing.T) { testUsageOnce(t, open) })
	t.Run("by key and operation", func(t *testing.T) { testUsageParts(t, open) })
	t.Run("by operation of all accounts", func(t *testing.T) { testOperationUsage(t, open) })
	t.Run("hours become days, which are kept for two years", func(t *testing.T) { testUsageRetention(t, open) })
	t.Run("two nodes add and clean concurrently", func(t *testing.T) { testUsageOfTwoNodes(t, open) })
	t.Run("largest accounts", func(t *testing.T) { testTopAccounts(t, open) })
	t.Run("killed nodes", func(t *testing.T) { testKilledNodes(t, open) })
	t.Run("lost batches", func(t *testing.T) { testLostBatches(t, open) })
	t.Run("last use of keys", func(t *testing.T) { testKeyUses(t, open) })
	t.Run("rejections", func(t *testing.T) { testRejections(t, open) })
}

// usage returns a usage history, by default until tomorrow.
func (f *fixture) usage(t *testing.T, s *store.Store, q petcat.UsageQuery) petcat.UsageHistory {
	t.Helper()
	if q.To.IsZero() {
		q.To = f.now().Add(24 * time.Hour)
	}
	return must(s.Usage(t.Context(), q))
}

// parts returns the usage by a group, by default until tomorrow.
func (f *fixture) parts(t *testing.T, q petcat.UsageQuery) []petcat.UsagePart {
	t.Helper()
	q.To = f.now().Add(24 * time.Hour)
	return must(f.UsageParts(t.Context(), q))
}

// detailed returns the counts of an account with their rows by key and operation.
func detailed(account petcat.AccountID, detail ...petcat.UsageDetail) petcat.UsageCount {
	c := petcat.UsageCount{Account: account, Detail: detail}
	for _, d := range detail {
		c.Requests += d.Requests
		c.DayRejected += d.Rejected
		c.Failed += d.Failed
	}
	return c
}

// wantDetailAddsUp checks that the usage by key and by operation adds up to the usage, in each period.
func (f *fixture) wantDetailAddsUp(t *testing.T, account petcat.AccountID, step petcat.UsageStep) {
	t.Helper()
	type sums struct{ Requests, Rejected, Failed int64 }
	want := map[time.Time]sums{}
	for _, p := range f.usage(t, f.Store, petcat.UsageQuery{Account: account, Step: step}).Periods {
		want[p.Begin] = sums{p.Requests, p.Rejected(), p.Failed}
	}
	for _, group := range []petcat.UsageGroup{petcat.GroupByKey, petcat.GroupByOperation} {
		got := map[time.Time]sums{}
		for _, p := range f.parts(t, petcat.UsageQuery{Account: account, Step: step, Group: group}) {
			s := got[p.Begin]
			got[p.Begin] = sums{s.Requests + p.Requests, s.Rejected + p.Rejected, s.Failed + p.Failed}
		}
		wantEqual(t, "sums by "+string(group)+" and "+string(step), want, got)
	}
}

// batch returns the last batch of a node, with counts in the hour of at.
func batch(node string, number int64, at time.Time, counts ...petcat.UsageCount) petcat.UsageBatch {
	for i := range counts {
		counts[i].Hour = at.Unix() / 3600
	}
	return petcat.UsageBatch{Node: node, Number: number, SeenAt: at, Stopped: true, Counts: counts}
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

// counted returns different counts.
func counted(n int64) petcat.UsageCounts {
	return petcat.UsageCounts{
		Requests:       n,
		MinuteRejected: 2 * n,
		DayRejected:    3 * n,
		BanRejected:    4 * n,
		KeyRejected:    5 * n,
		Failed:         6 * n,
		Bytes:          1_000 * n,
	}
}

func countOf(account petcat.AccountID, n int64) petcat.UsageCount {
	return petcat.UsageCount{Account: account, UsageCounts: counted(n)}
}

func period(begin time.Time, n int64) petcat.UsagePeriod {
	return petcat.UsagePeriod{Begin: begin, UsageCounts: counted(n)}
}

func (f *fixture) wantDayUsed(t *testing.T, account petcat.AccountID, at time.Time, want int64) {
	t.Helper()
	used := must(f.DayUsed(t.Context(), account, petcat.Day.Index(at.Unix())))
	wantEqual(t, "usage of the day", want, used)
}

func testUsageSteps(t *testing.T, open Open) {
	f := start(t, open)
	f.clock.Advance(12 * time.Hour)
	midnight := f.now()
	f.addUsage(t, batch("a", 1, noon, countOf(7, 4)))
	f.addUsage(t, batch("a", 2, midnight.Add(-time.Minute), countOf(7, 1), countOf(8, 5)))
	f.addUsage(t, batch("b", 1, midnight.Add(-time.Minute), countOf(7, 2)))
	f.addUsage(t, batch("a", 3, midnight, countOf(7, 10), countOf(petcat.AllAccounts, 99)))
	hours := []petcat.UsagePeriod{period(noon, 4), period(midnight.Add(-time.Hour), 3), period(midnight, 10)}
	days := []petcat.UsagePeriod{period(noon.Truncate(24*time.Hour), 7), period(midnight, 10)}
	for _, c := range []struct {
		step petcat.UsageStep
		all  []petcat.UsagePeriod
		last int // number of periods from midnight on
	}{{petcat.UsageByHour, hours, 2}, {petcat.UsageByDay, days, 1}} {
		of := func(from, to time.Time) []petcat.UsagePeriod {
			return f.usage(t, f.Store, petcat.UsageQuery{
				Account: 7,
				Step:    c.step,
				From:    from,
				To:      to,
			}).Periods
		}
		wantEqual(t, "all periods", c.all, of(time.Time{}, time.Time{}))
		wantEqual(t, "from midnight", c.all[c.last:], of(midnight, time.Time{}))
		wantEqual(t, "from before midnight", c.all[c.last:], of(midnight.Add(-time.Second), time.Time{}))
		wantEqual(t, "to midnight", c.all[:c.last], of(time.Time{}, midnight))
		wantEqual(t, "to past midnight", c.all, of(time.Time{}, midnight.Add(time.Second)))
	}
	all := f.usage(t, f.Store, petcat.UsageQuery{}).Periods
	wantEqual(t, "all accounts", []petcat.UsagePeriod{period(midnight, 99)}, all)
	unknown := petcat.UsageQuery{Account: 9, Step: petcat.UsageByDay}
	wantEqual(t, "unknown account", petcat.UsageHistory{}, f.usage(t, f.Store, unknown))
	f.wantDayUsed(t, 7, noon, 7)
	f.wantDayUsed(t, 7, midnight, 10)
	f.wantDayUsed(t, 9, noon, 0)
}

func testUsageOnce(t *testing.T, open Open) {
	f := start(t, open)
	other := f.another(t)
	first, second := batch("a", 1, noon, countOf(7, 1)), batch("a", 2, noon, countOf(7, 10))
	first.Rejections = []petcat.Rejection{rejection(noon, 3)}
	// The first batch arrives again after the second.
	for _, b := range []petcat.UsageBatch{first, first, second, first, second} {
		f.addUsage(t, b)
		if err := other.AddUsage(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	hours := f.usage(t, other, petcat.UsageQuery{Account: 7}).Periods
	wantEqual(t, "hours", []petcat.UsagePeriod{period(noon, 11)}, hours)
	f.wantRejections(t, 7, rejection(noon, 3))
}

func testUsageParts(t *testing.T, open Open) {
	f := start(t, open)
	list, create := petcat.OpListCategories, petcat.OpCreateCategory
	first := batch("a", 1, noon, detailed(7,
		petcat.UsageDetail{Requests: 9},
		petcat.UsageDetail{Key: 1, Operation: create, Requests: 1, Rejected: 2, Failed: 3},
		petcat.UsageDetail{Key: 1, Operation: list, Requests: 10},
		petcat.UsageDetail{Key: 2, Operation: list, Rejected: 20},
	), detailed(8, petcat.UsageDetail{Key: 3, Operation: list, Requests: 99}))
	f.addUsage(t, first)
	f.addUsage(t, first) // counts once
	f.addUsage(t, batch("b", 1, noon, detailed(7, petcat.UsageDetail{Key: 2, Operation: list, Requests: 5, Rejected: 1})))
	later := noon.Add(time.Hour)
	f.addUsage(t, batch("b", 2, later, detailed(7, petcat.UsageDetail{Key: 2, Operation: create, Requests: 7})))

	part := func(at time.Time, d petcat.UsageDetail) petcat.UsagePart {
		return petcat.UsagePart{Begin: at, UsageDetail: d}
	}
	byKey := petcat.UsageQuery{Account: 7, Step: petcat.UsageByHour, Group: petcat.GroupByKey}
	wantEqual(t, "by key", []petcat.UsagePart{
		part(noon, petcat.UsageDetail{Requests: 9}),
		part(noon, petcat.UsageDetail{Key: 1, Requests: 11, Rejected: 2, Failed: 3}),
		part(noon, petcat.UsageDetail{Key: 2, Requests: 5, Rejected: 21}),
		part(later, petcat.UsageDetail{Key: 2, Requests: 7}),
	}, f.parts(t, byKey))
	day := noon.Truncate(24 * time.Hour)
	byOperation := petcat.UsageQuery{
		Account: 7,
		Step:    petcat.UsageByDay,
		Group:   petcat.GroupByOperation,
	}
	wantEqual(t, "by operation", []petcat.UsagePart{
		part(day, petcat.UsageDetail{Requests: 9}),
		part(day, petcat.UsageDetail{Operation: create, Requests: 8, Rejected: 2, Failed: 3}),
		part(day, petcat.UsageDetail{Operation: list, Requests: 15, Rejected: 21}),
	}, f.parts(t, byOperation))
	byKey.From = later
	wantEqual(t, "from the second hour", 1, len(f.parts(t, byKey)))
	byKey.From = f.now().Add(24 * time.Hour)
	wantEqual(t, "no hour", 0, len(f.parts(t, byKey)))
	f.wantDetailAddsUp(t, 7, petcat.UsageByHour)
	f.wantDetailAddsUp(t, 8, petcat.UsageByDay)
}

func testOperationUsage(t *testing.T, open Open) {
	f := start(t, open)
	list, create := petcat.OpListCategories, petcat.OpCreateCategory
	running := batch("a", 1, noon.Add(-time.Minute), detailed(7,
		petcat.UsageDetail{Key: 1, Operation: list, Requests: 1, Rejected: 2, Failed: 3},
		petcat.UsageDetail{Key: 2, Operation: create, Requests: 10},
		petcat.UsageDetail{Key: 2, Operation: list, Requests: 20},
	), detailed(8, petcat.UsageDetail{Key: 3, Operation: list, Requests: 99}))
	running.Stopped = false
	f.addUsage(t, running)
	f.addUsage(t, batch("b", 1, noon, detailed(7, petcat.UsageDetail{Key: 1, Operation: list, Requests: 1_000})))
	hour := noon.Add(-time.Hour)
	wantEqual(t, "the hour", []petcat.OperationUsage{
		{Account: 7, Hour: hour, Operation: create, Requests: 10},
		{Account: 7, Hour: hour, Operation: list, Requests: 21, Rejected: 2, Failed: 3},
		{Account: 8, Hour: hour, Operation: list, Requests: 99},
	}, must(f.OperationUsage(t.Context(), hour)))
	until := func() time.Time { return must(f.UsageStoredUntil(t.Context())) }
	wantEqual(t, "stored by a node that runs", noon.Add(-time.Minute), until())
	running.Number, running.Stopped = 2, true
	f.addUsage(t, running)
	wantEqual(t, "stored when no node runs", noon, until())
}

func testUsageRetention(t *testing.T, open Open) {
	f := start(t, open)
	of := func(step petcat.UsageStep) []petcat.UsagePeriod {
		return f.usage(t, f.Store, petcat.UsageQuery{Account: 7, Step: step}).Periods
	}
	var counts []petcat.UsageCount // too many for one statement
	for a := range petcat.AccountID(1_500) {
		n := petcat.UsageDetail{Key: 1, Requests: int64(a), Rejected: 14 * int64(a), Failed: 6 * int64(a)}
		counts = append(counts, countOf(a, int64(a)))
		counts[a].Detail = []petcat.UsageDetail{n}
	}
	f.addUsage(t, batch("a", 1, noon, counts...))
	f.addUsage(t, batch("a", 2, noon.Add(time.Hour), counts...))
	day := []petcat.UsagePeriod{period(noon.Truncate(24*time.Hour), 14)}
	f.clock.Advance(petcat.UsageHours - 12*time.Hour)
	f.clean(t)
	hours := []petcat.UsagePeriod{period(noon, 7), period(noon.Add(time.Hour), 7)}
	wantEqual(t, "hours before they expire", hours, of(petcat.UsageByHour))
	wantEqual(t, "the day before the hours expire", day, of(petcat.UsageByDay))
	f.clock.Advance(24 * time.Hour)
	f.clean(t)
	f.wantDayUsed(t, 7, noon, 0) // the hours were deleted
	wantEqual(t, "the day after the hours expired", day, of(petcat.UsageByDay))
	f.wantDetailAddsUp(t, 7, petcat.UsageByDay)
	f.wantRows(t, "usage_by_key", 1_500) // of the day
	f.clock.Advance(petcat.UsageDetailDays - petcat.UsageHours - 24*time.Hour)
	f.clean(t)
	f.wantDetailAddsUp(t, 7, petcat.UsageByDay)
	f.clock.Advance(48 * time.Hour)
	f.clean(t)
	f.wantRows(t, "usage_by_key", 0)
	f.clock.Advance(petcat.UsageDays - petcat.UsageDetailDays - 48*time.Hour)
	f.clean(t)
	wantEqual(t, "the day after almost two years", day, of(petcat.UsageByDay))
	f.clock.Advance(48 * time.Hour)
	f.clean(t)
	f.clock.Step(-72 * time.Hour) // else the query would exclude the day
	wantEqual(t, "days after two years", 0, len(of(petcat.UsageByDay)))
}

// testUsageOfTwoNodes: two nodes add to the same rows and merge hours into days.
func testUsageOfTwoNodes(t *testing.T, open Open) {
	const batches, accounts = 20, 100
	f := start(t, open)
	stores := []*store.Store{f.Store, f.another(t)}
	at := noon.Add(-petcat.UsageHours - 48*time.Hour)
	errs := make(chan error)
	for node, s := range stores {
		go func() {
			for n := range int64(batches) {
				var counts []petcat.UsageCount
				for a := range petcat.AccountID(accounts) {
					counts = append(counts, countOf(a+1, 1))
					counts[a].Detail = []petcat.UsageDetail{{Key: 1, Requests: 1, Rejected: 14, Failed: 6}}
				}
				counts = append(counts, countOf(petcat.AllAccounts, accounts))
				b := batch(string(rune('a'+node)), n+1, at, counts...)
				if err := s.AddUsage(t.Context(), b); err != nil {
					errs <- err
					return
				}
			}
			errs <- s.Clean(t.Context())
		}()
	}
	for range stores {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	f.clean(t) // rows that both nodes skipped
	q := petcat.UsageQuery{Account: 7}
	wantEqual(t, "by the hour", 0, len(f.usage(t, f.Store, q).Periods))
	q.Step = petcat.UsageByDay
	day := period(at.Truncate(24*time.Hour), 2*batches)
	wantEqual(t, "by the day", []petcat.UsagePeriod{day}, f.usage(t, f.Store, q).Periods)
	f.wantDetailAddsUp(t, 7, petcat.UsageByDay)
	f.wantRows(t, "usage_by_key", accounts)
}

func testTopAccounts(t *testing.T, open Open) {
	f := start(t, open)
	a, b := f.account(t, "zoo"), f.account(t, "shop")
	f.account(t, "idle")
	old := noon.Add(-petcat.UsageHours - 48*time.Hour)
	f.addUsage(t, batch("a", 1, noon, countOf(a.ID, 5), countOf(b.ID, 3), countOf(petcat.AllAccounts, 8)))
	late := petcat.UsageCounts{Requests: 1, DayRejected: 100}
	f.addUsage(t, batch("a", 2, noon.Add(time.Hour), petcat.UsageCount{Account: b.ID, UsageCounts: late}))
	f.addUsage(t, batch("a", 3, old, countOf(b.ID, 4)))
	f.clean(t) // merges the last hour into a day
	recent := counted(3)
	recent.Add(late)
	all := recent
	all.Add(counted(4))
	zoo := petcat.AccountUsage{Account: a.ID, Name: "zoo", UsageCounts: counted(5)}
	shop := petcat.AccountUsage{Account: b.ID, Name: "shop", UsageCounts: recent}
	larger := petcat.AccountUsage{Account: b.ID, Name: "shop", UsageCounts: all}
	oldDay, hours := old.Truncate(24*time.Hour), func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	for _, c := range []struct {
		q    petcat.TopQuery
		want []petcat.AccountUsage
	}{
		{petcat.TopQuery{From: noon, To: hours(2)}, []petcat.AccountUsage{zoo, shop}},
		{petcat.TopQuery{From: noon, To: hours(2), ByRejected: true}, []petcat.AccountUsage{shop, zoo}},
		{petcat.TopQuery{From: noon, To: hours(1), Limit: 1}, []petcat.AccountUsage{zoo}},
		{petcat.TopQuery{From: oldDay, To: hours(2), Limit: 1}, []petcat.AccountUsage{larger}},
		{petcat.TopQuery{From: hours(2), To: hours(3)}, nil},
	} {
		if c.q.Limit == 0 {
			c.q.Limit = 10
		}
		got := must(f.TopAccounts(t.Context(), c.q))
		wantEqual(t, "the largest accounts", c.want, got)
	}
}

func testKilledNodes(t *testing.T, open Open) {
	f := start(t, open)
	silent := func(node string, at time.Time, number int64, stopped bool) {
		b := batch(node, number, at, countOf(7, 1))
		b.Stopped = stopped
		f.addUsage(t, b)
	}
	silent("killed", noon, 1, false)
	silent("stopped", noon, 1, true)
	silent("serves", noon, 1, false)
	f.clean(t)
	query := petcat.UsageQuery{Account: 7}
	if h := f.usage(t, f.Store, query); len(h.Gaps) > 0 || h.Periods[0].Incomplete {
		t.Errorf("got the gaps %v while all nodes run", h)
	}
	f.clock.Advance(2 * time.Hour)
	silent("serves", f.now().Add(-time.Second), 2, false)
	f.clean(t)
	gap := petcat.UsageGap{Node: "killed", From: noon, Until: f.now()}
	h := f.usage(t, f.Store, query)
	wantEqual(t, "gaps", []petcat.UsageGap{gap}, h.Gaps)
	wantEqual(t, "incomplete", true, h.Periods[0].Incomplete)
	f.clock.Advance(time.Hour)
	silent("serves", f.now(), 3, false)
	f.clean(t)
	h = f.usage(t, f.Store, query)
	wantEqual(t, "gaps later", []petcat.UsageGap{gap}, h.Gaps)
	wantEqual(t, "incomplete an hour later", false, h.Periods[2].Incomplete)
	later := petcat.UsageQuery{Account: 7, From: gap.Until.Add(time.Second)}
	wantEqual(t, "gaps in another period", 0, len(f.usage(t, f.Store, later).Gaps))
	// The node was only paused.
	silent("killed", f.now(), 2, false)
	wantEqual(t, "gaps after the pause", 0, len(f.usage(t, f.Store, query).Gaps))
}

// testLostBatches: a failover loses the second of four batches. The history has the other batches, and a
// gap between the first and the third, which remains when the node stops.
func testLostBatches(t *testing.T, open Open) {
	f := start(t, open)
	f.addUsage(t, batch("a", 1, noon, countOf(7, 1)))
	f.addUsage(t, batch("a", 3, noon.Add(2*time.Second), countOf(7, 10)))
	f.addUsage(t, batch("a", 4, noon.Add(3*time.Second), countOf(7, 100)))
	h := f.usage(t, f.Store, petcat.UsageQuery{Account: 7})
	want := period(noon, 111)
	want.Incomplete = true
	wantEqual(t, "periods", []petcat.UsagePeriod{want}, h.Periods)
	wantEqual(t, "gaps", []petcat.UsageGap{{Node: "a/1", From: noon, Until: noon.Add(2 * time.Second)}}, h.Gaps)
	f.clock.Advance(48 * time.Hour)
	f.clean(t)
	wantEqual(t, "gaps two days later", h.Gaps, f.usage(t, f.Store, petcat.UsageQuery{Account: 7}).Gaps)
}

func testKeyUses(t *testing.T, open Open) {
	f := start(t, open)
	a, b := f.account(t, "zoo"), f.account(t, "shop")
	used, _ := f.key(t, a.ID, 1)
	other, _ := f.key(t, b.ID, 2)
	unused, _ := f.key(t, a.ID, 3)
	use := func(number int64, key petcat.KeyID, at time.Time) {
		uses := []petcat.KeyUse{{Key: key, At: at}}
		f.addUsage(t, petcat.UsageBatch{Node: "a", Number: number, SeenAt: at, Keys: uses})
	}
	use(1, used.ID, noon.Add(time.Second))
	use(2, other.ID, noon.Add(time.Minute))
	use(3, used.ID, noon) // arrives late
	used.UsedAt, other.UsedAt = noon.Add(time.Second), noon.Add(time.Minute)
	wantEqual(t, "the keys", []petcat.Key{used, other, unused}, f.keys(t, 0))
}

// rejection returns a rejection of account 7 with all fields set.
func rejection(at time.Time, key petcat.KeyID) petcat.Rejection {
	return petcat.Rejection{
		Account:   7,
		Key:       key,
		Operation: petcat.OpListCategories,
		Code:      petcat.CodeRateLimitExceeded,
		Count:     1,
		First:     at,
		Last:      at,
		RequestID: at.String(),
		Status:    429,
		Minute:    petcat.QuotaUsage{Used: 60, Limit: 60},
		Day:       petcat.QuotaUsage{Used: 61, Limit: 1_000},
		Until:     at.Add(time.Minute),
	}
}

func (f *fixture) wantRejections(t *testing.T, account petcat.AccountID, want ...petcat.Rejection) {
	t.Helper()
	got := must(f.Rejections(t.Context(), account))
	wantEqual(t, "rejections of "+account.String(), want, got)
}

func testRejections(t *testing.T, open Open) {
	f := start(t, open)
	number := int64(0)
	reject := func(rejections ...petcat.Rejection) {
		number++
		f.addUsage(t, petcat.UsageBatch{
			Node:       "a",
			Number:     number,
			SeenAt:     f.now(),
			Rejections: rejections,
		})
	}
	bare := petcat.Rejection{
		Account:   7,
		Key:       3,
		Code:      petcat.CodeServiceUnavailable,
		Count:     1,
		First:     noon,
		Last:      noon,
		RequestID: "x",
		Status:    503,
	}
	other := rejection(noon, 3)
	other.Account = 8
	reject(rejection(noon.Add(time.Second), 3), bare, other)
	f.wantRejections(t, 7, rejection(noon.Add(time.Second), 3), bare)
	f.wantRejections(t, 8, other)
	f.wantRejections(t, 9)

	again := rejection(noon.Add(time.Minute), 3)
	again.Count, again.First = 4, noon.Add(50*time.Second)
	reject(again)
	again.Count, again.First = 5, noon.Add(time.Second)
	f.wantRejections(t, 7, again, bare)

	found := must(f.FindRejection(t.Context(), "x"))
	wantEqual(t, "the rejection of a request", bare, found)
	_, err := f.FindRejection(t.Context(), "y")
	wantCode(t, err, petcat.CodeNotFound)

	var many []petcat.Rejection
	for n := range petcat.RecentRejections {
		many = append(many, rejection(noon.Add(time.Hour-time.Duration(n)*time.Second), petcat.KeyID(n+10)))
	}
	reject(many...)
	f.wantRejections(t, 7, many...)
}
