package metrics

import (
	"math"
	"slices"
	"sync"
	"time"

	"petcat"
)

// A series keeps the last hour in steps of 10 s, and the last day in steps of 5 min.
const (
	// Step is how often [Series.Take] is to be called.
	Step     = 10 * time.Second
	perHour  = 360
	longStep = 30 // steps
	perDay   = 288
)

// Point is what happened in a step.
type Point struct {
	End  time.Time
	Took time.Duration // 0: nothing is known of the step
	// Answers is how many requests were answered, by the first digit of their status.
	Answers [6]int64
	Refused map[petcat.Code]int64
	// Unhealthy are the parts of the node that were unhealthy at some end of a step.
	Unhealthy []string

	durations []uint64 // by bucket; the last one has no bound
	bounds    []float64
}

// Quantile returns how long a share of the requests took at most, by the buckets of the
// histogram; 0 if there were none. What is in the last bucket counts as its lower bound.
func (p *Point) Quantile(share float64) time.Duration {
	var total uint64
	for _, n := range p.durations {
		total += n
	}
	rank, below := share*float64(total), 0.0
	for i, n := range p.durations {
		if n == 0 || below+float64(n) < rank {
			below += float64(n)
			continue
		}
		low, high := 0.0, 0.0
		if i > 0 {
			low, high = p.bounds[i-1], p.bounds[i-1]
		}
		if i < len(p.bounds) {
			high = p.bounds[i]
		}
		return time.Duration((low + (high-low)*(rank-below)/float64(n)) * float64(time.Second))
	}
	return 0
}

// add adds a later step.
func (p *Point) add(later *Point) {
	p.End, p.Took, p.bounds = later.End, p.Took+later.Took, later.bounds
	for i, n := range later.Answers {
		p.Answers[i] += n
	}
	if p.Refused == nil {
		p.Refused = make(map[petcat.Code]int64)
	}
	for code, n := range later.Refused {
		p.Refused[code] += n
	}
	for len(p.durations) < len(later.durations) {
		p.durations = append(p.durations, 0)
	}
	for i, n := range later.durations {
		p.durations[i] += n
	}
	for _, part := range later.Unhealthy {
		if !slices.Contains(p.Unhealthy, part) {
			p.Unhealthy = append(p.Unhealthy, part)
		}
	}
}

// Series is what the metrics counted, step by step, so that a page can show it without a
// collector of metrics. Use [Metrics.Series]. It is safe for concurrent use.
type Series struct {
	metrics *Metrics

	mu         sync.Mutex
	totals     Point   // guarded by mu: as of the last step
	hour, day  []Point // guarded by mu: the oldest first
	open       Point   // guarded by mu: the step of the day that is under way
	openLength int     // guarded by mu: how many steps it has
}

// Series returns the series of the metrics, which begins now.
func (m *Metrics) Series(now time.Time) *Series {
	s := &Series{metrics: m}
	s.totals = m.totals()
	s.totals.End = now
	return s
}

// Take ends a step now, and notes which parts of the node are unhealthy.
func (s *Series) Take(now time.Time, unhealthy []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	totals := s.metrics.totals()
	totals.End = now
	step := totals.since(&s.totals)
	step.Unhealthy = unhealthy
	s.totals = totals
	s.hour = keep(append(s.hour, step), perHour)
	s.open.add(&step)
	if s.openLength++; s.openLength == longStep {
		s.day = keep(append(s.day, s.open), perDay)
		s.open, s.openLength = Point{}, 0
	}
}

// Hour returns the steps of the last hour, the oldest first; those from before the series
// began took no time. Nobody may change what they hold.
func (s *Series) Hour() []Point {
	s.mu.Lock()
	defer s.mu.Unlock()
	return whole(s.hour, s.totals.End, Step, perHour)
}

// Day returns the steps of the last day, as Hour does. The one that is under way is the
// last.
func (s *Series) Day() []Point {
	s.mu.Lock()
	defer s.mu.Unlock()
	points := s.day
	if s.openLength > 0 {
		open := Point{}
		open.add(&s.open)
		points = keep(append(slices.Clip(points), open), perDay)
	}
	return whole(points, s.totals.End, longStep*Step, perDay)
}

// keep returns the last points, at most so many.
func keep(points []Point, most int) []Point {
	if len(points) > most {
		points = points[len(points)-most:]
	}
	return points
}

// whole returns so many points, of which the first are empty where there are fewer.
func whole(points []Point, end time.Time, step time.Duration, length int) []Point {
	all := make([]Point, length-len(points), length)
	if len(points) > 0 {
		end = points[0].End.Add(-points[0].Took)
	}
	for i := range all {
		all[i].End = end.Add(-time.Duration(len(all)-1-i) * step)
	}
	return append(all, points...)
}

// since returns what happened after an earlier reading.
func (p *Point) since(before *Point) Point {
	step := Point{End: p.End, Took: p.End.Sub(before.End), Refused: make(map[petcat.Code]int64), bounds: p.bounds}
	for i := range p.Answers {
		step.Answers[i] = p.Answers[i] - before.Answers[i]
	}
	for code, n := range p.Refused {
		if n > before.Refused[code] {
			step.Refused[code] = n - before.Refused[code]
		}
	}
	step.durations = make([]uint64, len(p.durations))
	for i, n := range p.durations {
		step.durations[i] = n
		if i < len(before.durations) {
			step.durations[i] -= before.durations[i]
		}
	}
	return step
}

// totals reads the counters of all requests.
func (m *Metrics) totals() Point {
	t := Point{Refused: make(map[petcat.Code]int64)}
	families, err := m.series.Gather()
	if err != nil { // two metrics of one name: a mistake in this program
		panic(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := make(map[string]string)
			for _, pair := range metric.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			switch family.GetName() {
			case requestsTotal:
				if class := int(labels["code"][0] - '0'); class < len(t.Answers) {
					t.Answers[class] += int64(metric.GetCounter().GetValue())
				}
			case refusedTotal:
				t.Refused[petcat.Code(labels["reason"])] += int64(metric.GetCounter().GetValue())
			case requestDuration:
				h, below := metric.GetHistogram(), uint64(0)
				for i, bucket := range h.GetBucket() {
					if math.IsInf(bucket.GetUpperBound(), 1) {
						break
					}
					for len(t.durations) <= i+1 {
						t.durations = append(t.durations, 0)
					}
					if len(t.bounds) <= i {
						t.bounds = append(t.bounds, bucket.GetUpperBound())
					}
					t.durations[i] += bucket.GetCumulativeCount() - below
					below = bucket.GetCumulativeCount()
				}
				t.durations[len(t.durations)-1] += h.GetSampleCount() - below
			}
		}
	}
	return t
}
