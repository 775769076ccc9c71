package metrics

import (
	"slices"
	"sync"
	"time"

	"petcat"
)

const (
	// Step is how often [Series.Take] is to be called.
	Step = 10 * time.Second
	// maxSteps are those of a day.
	maxSteps = int(24 * time.Hour / Step)
)

// Point is what happened in one step or several.
type Point struct {
	End  time.Time
	Took time.Duration // 0: nothing is known of the step
	// Answers is how many requests were answered, by the first digit of their status.
	Answers [6]int64
	Refused map[petcat.Code]int64
	// Unhealthy are the parts of the node that were unhealthy at some end of a step.
	Unhealthy []string

	durations [15]int64 // by the buckets of the histogram, and behind the last one
}

// Quantile returns how long a share of the requests took at most, by the bounds of the
// histogram; 0 if there were none.
func (p *Point) Quantile(share float64) (bound time.Duration) {
	var total, below float64
	for _, n := range p.durations {
		total += float64(n)
	}
	for i, seconds := range secondBuckets() {
		if below >= share*total {
			break
		}
		below += float64(p.durations[i])
		bound = time.Duration(seconds * float64(time.Second))
	}
	return bound
}

// add adds a later step.
func (p *Point) add(later *Point) {
	p.End, p.Took = later.End, p.Took+later.Took
	for i, n := range later.Answers {
		p.Answers[i] += n
	}
	for i, n := range later.durations {
		p.durations[i] += n
	}
	for code, n := range later.Refused {
		p.refuse(code, n)
	}
	for _, part := range later.Unhealthy {
		if !slices.Contains(p.Unhealthy, part) {
			p.Unhealthy = append(p.Unhealthy, part)
		}
	}
}

func (p *Point) refuse(code petcat.Code, n int64) {
	if p.Refused == nil {
		p.Refused = map[petcat.Code]int64{}
	}
	p.Refused[code] += n
}

// Series is what happened step by step within a day, so that a page can show it without a
// collector of metrics. Use [Metrics.Series]. It is safe for concurrent use.
type Series struct {
	mu    sync.Mutex
	open  Point   // guarded by mu: the step that is under way; End is its beginning
	steps []Point // guarded by mu, the oldest first
}

// Series returns the series of the metrics, which begins now.
func (m *Metrics) Series(now time.Time) *Series {
	m.series.mu.Lock()
	defer m.series.mu.Unlock()
	m.series.open = Point{End: now}
	return &m.series
}

// count counts a request. refused says whether its caller was refused, as opposed to the request.
func (s *Series) count(status int, code petcat.Code, refused bool, took time.Duration) {
	buckets := secondBuckets()
	bucket, _ := slices.BinarySearch(buckets[:], took.Seconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open.Answers[min(status/100, len(s.open.Answers)-1)]++
	s.open.durations[bucket]++
	if refused {
		s.open.refuse(code, 1)
	}
}

// Take ends a step now, and notes which parts of the node are unhealthy.
func (s *Series) Take(now time.Time, unhealthy []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step := s.open
	step.End, step.Took, step.Unhealthy = now, now.Sub(step.End), unhealthy
	s.open = Point{End: now}
	s.steps = append(s.steps, step)
	s.steps = s.steps[max(0, len(s.steps)-maxSteps):]
}

// Last returns so many points, the oldest first, of so many steps each. Those from before the
// series began took no time.
func (s *Series) Last(count, steps int) []Point {
	s.mu.Lock()
	defer s.mu.Unlock()
	points := make([]Point, count)
	for i := range points {
		later := (count - 1 - i) * steps
		points[i].End = s.open.End.Add(-time.Duration(later) * Step)
		end := max(0, len(s.steps)-later)
		for _, step := range s.steps[max(0, end-steps):end] {
			points[i].add(&step)
		}
	}
	return points
}
