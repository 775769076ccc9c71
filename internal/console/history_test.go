package console

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
)

func TestHistory(t *testing.T) {
	noon := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	h := NewHistory(noon)
	for range 99 {
		h.Count(200, "", time.Millisecond)
	}
	h.Count(429, petcat.CodeRateLimitExceeded, time.Second)
	h.Count(503, petcat.CodeServiceUnavailable, 0)
	h.Take(noon.Add(StepLength), []string{"store"})
	h.Take(noon.Add(2*StepLength), nil)

	all := h.Last(false)
	step, last := all[358], all[359]
	if len(all) != 360 || all[357].Took != 0 || step.Took != StepLength || step.Good != 99 || step.Refused != 1 || step.Faulty != 0 || step.Failed != 1 ||
		!cmp.Equal(step.Reasons, map[petcat.Code]int64{petcat.CodeRateLimitExceeded: 1}) || !slices.Equal(step.Unhealthy, []string{"store"}) ||
		step.P50 != time.Millisecond || step.P99 != time.Millisecond {
		t.Errorf("the step: %+v", step)
	}
	if last.Good != 0 || last.Unhealthy != nil || last.P50 != 0 || !last.End.Equal(noon.Add(2*StepLength)) || !all[0].End.Equal(last.End.Add(-359*StepLength)) {
		t.Errorf("the last step: %+v", last)
	}

	for i := 3; i <= 9000; i++ { // a day has 8,640
		h.Count(200, "", 0)
		h.Take(noon.Add(time.Duration(i)*StepLength), nil)
	}
	day := h.Last(true)
	for i, p := range day {
		if p.Took != 30*StepLength || p.Good != 30 || !p.End.Equal(noon.Add(time.Duration(360+30*(i+1))*StepLength)) {
			t.Fatalf("point %d of the day: %+v", i, p)
		}
	}
}
