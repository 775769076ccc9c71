package console

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/petcat-api/petcat"
)

// wantStep compares a step without its buckets, which P50 and P99 show.
func wantStep(t *testing.T, what string, want, got Step) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Step{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestHistory: a step has the numbers between two totals.
func TestHistory(t *testing.T) {
	noon := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	first, second := noon.Add(StepLength), noon.Add(2*StepLength)
	h := NewHistory(noon, bounds())
	totals := newTotals()
	totals.count(98, 200, "", time.Millisecond)
	totals.count(1, 400, "", 2*time.Millisecond)
	totals.count(1, 429, petcat.CodeRateLimitExceeded, time.Millisecond)
	totals.count(1, 503, "", time.Second)
	h.Take(first, totals.clone(), []string{"store"})
	totals.count(1, 401, petcat.CodeInvalidAPIKey, 2*time.Millisecond)
	h.Take(second, totals.clone(), nil)

	all := h.LastHour()
	if len(all) != 360 {
		t.Fatalf("%d steps, want 360", len(all))
	}
	wantStep(t, "the first step of the hour, before the history began",
		Step{End: second.Add(-359 * StepLength)}, all[0])
	wantStep(t, "the step before the first one taken", Step{End: noon}, all[357])
	wantStep(t, "the first step taken", Step{
		End:       first,
		Took:      StepLength,
		Good:      98,
		Rejected:  1,
		Faulty:    1,
		Failed:    1,
		Reasons:   map[petcat.Code]int64{petcat.CodeRateLimitExceeded: 1},
		P50:       time.Millisecond,
		P99:       2500 * time.Microsecond,
		Unhealthy: []string{"store"},
	}, all[358])
	wantStep(t, "the second step taken", Step{
		End:      second,
		Took:     StepLength,
		Rejected: 1,
		Reasons:  map[petcat.Code]int64{petcat.CodeInvalidAPIKey: 1},
		P50:      2500 * time.Microsecond,
		P99:      2500 * time.Microsecond,
	}, all[359])
}

// TestHistoryOfADay: a point of the day is the sum of 30 steps, and older steps are forgotten.
func TestHistoryOfADay(t *testing.T) {
	noon := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	h := NewHistory(noon, bounds())
	totals := newTotals()
	for i := range 9000 { // a day has 8,640
		totals.count(1, 200, "", time.Minute)
		h.Take(noon.Add(time.Duration(i+1)*StepLength), totals.clone(), nil)
	}
	day := h.LastDay()
	if len(day) != 288 {
		t.Fatalf("%d points, want 288", len(day))
	}
	for i, got := range day {
		wantStep(t, "a point of the day", Step{
			End:  noon.Add(time.Duration(360+30*(i+1)) * StepLength),
			Took: 30 * StepLength,
			Good: 30,
			P50:  50 * time.Millisecond, // the last bound
			P99:  50 * time.Millisecond,
		}, got)
	}
}
