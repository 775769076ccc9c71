package metrics

import (
	"testing"
	"time"

	"petcat"
)

var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

func TestSeries(t *testing.T) {
	m := New("test")
	m.Request(petcat.OpListCategories, 200, "", true, time.Millisecond) // before the series
	s := m.Series(noon)
	if hour := s.Hour(); len(hour) != perHour || hour[perHour-1].Took != 0 {
		t.Errorf("at the beginning: %d points, of which the last is %v", len(hour), hour[len(hour)-1])
	}
	for range 99 {
		m.Request(petcat.OpListCategories, 200, "", true, time.Millisecond)
	}
	m.Request(petcat.OpCreateCategory, 429, petcat.CodeRateLimitExceeded, false, time.Second)
	m.Request(NoOperation, 503, petcat.CodeServiceUnavailable, false, 0)
	s.Take(noon.Add(Step), []string{"store"})
	s.Take(noon.Add(2*Step), nil)
	hour := s.Hour()
	p := hour[perHour-2]
	if len(hour) != perHour || p.Took != Step || p.Answers[2] != 99 || p.Answers[4] != 1 || p.Answers[5] != 1 || p.Refused[petcat.CodeRateLimitExceeded] != 1 {
		t.Errorf("the step: %+v", p)
	}
	if len(p.Unhealthy) != 1 || hour[perHour-1].Unhealthy != nil || hour[perHour-1].Answers != [6]int64{} {
		t.Errorf("the steps: %+v, %+v", p, hour[perHour-1])
	}
	if got := p.Quantile(0.5); got < 600*time.Microsecond || got > 1600*time.Microsecond {
		t.Errorf("half take %s, want about a millisecond", got)
	}
	if got := p.Quantile(0.999); got < 900*time.Millisecond || got > 2400*time.Millisecond {
		t.Errorf("nearly all take %s, want what is in the bucket of a second", got)
	}
	if got := hour[perHour-1].Quantile(0.5); got != 0 {
		t.Errorf("half of no requests take %s", got)
	}
	day := s.Day()
	if last := day[perDay-1]; len(day) != perDay || last.Took != 2*Step || last.Answers[2] != 99 || len(last.Unhealthy) != 1 {
		t.Errorf("the step of the day: %+v", day[perDay-1])
	}
}

func TestSeriesIsBounded(t *testing.T) {
	m := New("test")
	s := m.Series(noon)
	const steps = perHour + 3*longStep + 7
	for i := range steps {
		m.Request(petcat.OpListCategories, 200, "", true, 0)
		s.Take(noon.Add(time.Duration(i+1)*Step), nil)
	}
	hour, day := s.Hour(), s.Day()
	if len(hour) != perHour || len(day) != perDay {
		t.Fatalf("%d and %d points", len(hour), len(day))
	}
	end := noon.Add(steps * Step)
	for name, points := range map[string][]Point{"hour": hour, "day": day} {
		for i, p := range points {
			if p.Took == 0 {
				continue // before the start
			}
			if p.Answers[2] != int64(p.Took/Step) || i > 0 && !p.End.Add(-p.Took).Equal(points[i-1].End) {
				t.Fatalf("%s: point %d is %+v", name, i, p)
			}
		}
		if last := points[len(points)-1]; !last.End.Equal(end) {
			t.Errorf("%s: the last point ends at %s, want %s", name, last.End, end)
		}
	}
	if day[perDay-1].Took != 7*Step || day[perDay-2].Took != longStep*Step {
		t.Errorf("the last steps of the day took %s and %s", day[perDay-2].Took, day[perDay-1].Took)
	}
}
