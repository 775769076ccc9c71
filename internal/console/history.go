package console

import (
	"net/http"
	"sync"
	"time"

	"github.com/petcat-api/petcat"
)

const (
	// StepLength is the interval at which [History.Take] must be called.
	StepLength = 10 * time.Second
	// maxSteps is the number of steps of a day.
	maxSteps = int(24 * time.Hour / StepLength)
)

// Totals are the numbers of this node's responses since it started.
type Totals struct {
	Statuses  map[int]int64         // by status
	Reasons   map[petcat.Code]int64 // of the rejections
	Durations []int64               // by bucket; the last one is unbounded
}

// Step has the numbers of this node over a short time.
type Step struct {
	End  time.Time     `json:"end"`
	Took time.Duration `json:"took"` // 0: the node was not running
	// The numbers of responses by status: below 400, rejections (401 and 429), other client errors, and
	// server errors.
	Good     int64                 `json:"good"`
	Rejected int64                 `json:"rejected"`
	Faulty   int64                 `json:"faulty"`
	Failed   int64                 `json:"failed"`
	Reasons  map[petcat.Code]int64 `json:"reasons"` // of the rejections
	// P50 and P99 are the 50th and 99th percentile of the durations, by the bounds of the
	// buckets; 0 without requests.
	P50       time.Duration `json:"p50"`
	P99       time.Duration `json:"p99"`
	Unhealthy []string      `json:"unhealthy"` // the parts that were unhealthy at the end of the step

	durations []int64 // as in Totals
}

// Requests returns the number of all responses.
func (s *Step) Requests() int64 { return s.Good + s.Rejected + s.Faulty + s.Failed }

// add adds another step. Its end and its percentiles stay.
func (s *Step) add(other Step) {
	s.Took += other.Took
	s.Good += other.Good
	s.Rejected += other.Rejected
	s.Faulty += other.Faulty
	s.Failed += other.Failed
	s.Unhealthy = append(s.Unhealthy, other.Unhealthy...)
	if s.Reasons == nil {
		s.Reasons = make(map[petcat.Code]int64)
	}
	for code, n := range other.Reasons {
		s.Reasons[code] += n
	}
	if s.durations == nil {
		s.durations = make([]int64, len(other.durations))
	}
	for i, n := range other.durations {
		s.durations[i] += n
	}
}

// quantile returns the maximum duration of a share of the requests, 0 without requests. bounds are
// the upper bounds of the buckets.
func (s *Step) quantile(share float64, bounds []time.Duration) (bound time.Duration) {
	enough := share * float64(s.Requests())
	var below float64
	for i, n := range s.durations {
		if below >= enough || i == len(bounds) {
			break
		}
		below += float64(n)
		bound = bounds[i]
	}
	return bound
}

// History keeps the steps of this node's last day in memory, so that the console does not need a metrics
// server. Use [NewHistory]. It is safe for concurrent use.
type History struct {
	bounds []time.Duration // of the duration buckets

	mu    sync.Mutex
	end   time.Time // guarded by mu: of the last step
	until Totals    // guarded by mu: at the end of the last step
	steps []Step    // guarded by mu, the oldest first
}

// NewHistory returns a history that begins now. bounds are the upper bounds of the buckets of
// [Totals].
func NewHistory(now time.Time, bounds []time.Duration) *History {
	return &History{bounds: bounds, end: now}
}

// Take ends the current step, and records the unhealthy parts of the node.
func (h *History) Take(now time.Time, totals Totals, unhealthy []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	step := since(h.until, totals)
	step.End = now
	step.Took = now.Sub(h.end)
	step.Unhealthy = unhealthy
	h.end = now
	h.until = totals
	h.steps = append(h.steps, step)
	h.steps = h.steps[max(0, len(h.steps)-maxSteps):]
}

// since returns the numbers between two totals.
func since(before, after Totals) Step {
	step := Step{
		Reasons:   make(map[petcat.Code]int64),
		durations: make([]int64, len(after.Durations)),
	}
	for status, n := range after.Statuses {
		n -= before.Statuses[status]
		switch {
		case status == http.StatusUnauthorized || status == http.StatusTooManyRequests:
			step.Rejected += n
		case status >= http.StatusInternalServerError:
			step.Failed += n
		case status >= http.StatusBadRequest:
			step.Faulty += n
		default:
			step.Good += n
		}
	}
	for code, n := range after.Reasons {
		if n > before.Reasons[code] {
			step.Reasons[code] = n - before.Reasons[code]
		}
	}
	copy(step.durations, after.Durations)
	for i, n := range before.Durations {
		step.durations[i] -= n
	}
	return step
}

// LastHour returns the steps of the last hour, each of 10 s, the oldest first. Steps before the history
// began have a duration of 0.
func (h *History) LastHour() []Step { return h.last(360, 1) }

// LastDay returns the steps of the last day, each of 5 min, like LastHour.
func (h *History) LastDay() []Step { return h.last(288, 30) }

// last returns a number of steps, each made of several that were taken.
func (h *History) last(count, length int) []Step {
	h.mu.Lock()
	defer h.mu.Unlock()
	long := make([]Step, count)
	for i := range long {
		later := (count - 1 - i) * length
		end := max(0, len(h.steps)-later)
		step := Step{Reasons: map[petcat.Code]int64{}} // never null in JSON
		for _, short := range h.steps[max(0, end-length):end] {
			step.add(short)
		}
		step.End = h.end.Add(-time.Duration(later) * StepLength)
		if end > 0 {
			step.End = h.steps[end-1].End
		}
		step.P50 = step.quantile(0.5, h.bounds)
		step.P99 = step.quantile(0.99, h.bounds)
		long[i] = step
	}
	return long
}
