package console

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"petcat"
)

const (
	// StepLength is the interval at which [History.Take] must be called.
	StepLength = 10 * time.Second
	// maxSteps is the number of steps of a day.
	maxSteps = int(24 * time.Hour / StepLength)
)

// Step has the numbers of this node over a short time.
type Step struct {
	End  time.Time     `json:"end"`
	Took time.Duration `json:"took"` // 0: the node was not running
	// The numbers of responses by status: below 400, refusals (401 and 429), the caller's other
	// errors, and failures of the service.
	Good    int64                 `json:"good"`
	Refused int64                 `json:"refused"`
	Faulty  int64                 `json:"faulty"`
	Failed  int64                 `json:"failed"`
	Reasons map[petcat.Code]int64 `json:"reasons"` // of the refusals
	// P50 and P99 are the 50th and 99th percentile of the durations, by the bounds of the
	// buckets; 0 without requests. Last sets them.
	P50       time.Duration `json:"p50"`
	P99       time.Duration `json:"p99"`
	Unhealthy []string      `json:"unhealthy"` // the parts that were unhealthy at the end of the step

	durations [15]int64 // by bucket; the last one has no upper bound
}

// Requests returns the number of all responses.
func (s *Step) Requests() int64 { return s.Good + s.Refused + s.Faulty + s.Failed }

func newStep(end time.Time) Step { return Step{End: end, Reasons: map[petcat.Code]int64{}} }

// quantile returns the maximum duration of a share of the requests.
func (s *Step) quantile(share float64) (bound time.Duration) {
	var total, below float64
	for _, n := range s.durations {
		total += float64(n)
	}
	for i, upper := range buckets() {
		if below >= share*total {
			break
		}
		below += float64(s.durations[i])
		bound = upper
	}
	return bound
}

// add adds a later step.
func (s *Step) add(later *Step) {
	s.Took += later.Took
	s.Good, s.Refused, s.Faulty, s.Failed = s.Good+later.Good, s.Refused+later.Refused, s.Faulty+later.Faulty, s.Failed+later.Failed
	for i, n := range later.durations {
		s.durations[i] += n
	}
	for code, n := range later.Reasons {
		s.Reasons[code] += n
	}
	s.Unhealthy = append(s.Unhealthy, later.Unhealthy...)
}

// buckets returns the upper bounds of the buckets of durations.
func buckets() []time.Duration {
	const ms = time.Millisecond
	return []time.Duration{ms / 10, ms / 4, ms / 2, ms, 5 * ms / 2, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, 1000 * ms, 2500 * ms}
}

// History keeps the steps of this node's last day in memory, so that the console needs no metrics
// server. Use [NewHistory]. It is safe for concurrent use.
type History struct {
	mu    sync.Mutex
	open  Step   // guarded by mu: the current step; End is its beginning
	steps []Step // guarded by mu, the oldest first
}

// NewHistory returns a history that begins now.
func NewHistory(now time.Time) *History { return &History{open: newStep(now)} }

// Count counts a response. code is "" unless it is an error.
func (h *History) Count(status int, code petcat.Code, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &h.open
	switch {
	case status == http.StatusUnauthorized || status == http.StatusTooManyRequests:
		s.Refused++
		s.Reasons[code]++
	case status >= http.StatusInternalServerError:
		s.Failed++
	case status >= http.StatusBadRequest:
		s.Faulty++
	default:
		s.Good++
	}
	bucket, _ := slices.BinarySearch(buckets(), took)
	s.durations[bucket]++
}

// Take ends the current step, and records the unhealthy parts of the node.
func (h *History) Take(now time.Time, unhealthy []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	step := h.open
	step.End, step.Took, step.Unhealthy = now, now.Sub(step.End), unhealthy
	h.open = newStep(now)
	h.steps = append(h.steps, step)
	h.steps = h.steps[max(0, len(h.steps)-maxSteps):]
}

// Last returns the steps of the last hour, each of 10 s, or of the last day, each of 5 min, the
// oldest first. Steps before the history began took no time.
func (h *History) Last(day bool) []Step {
	count, length := 360, 1
	if day {
		count, length = 288, 30
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	long := make([]Step, count)
	for i := range long {
		later := (count - 1 - i) * length
		long[i] = newStep(h.open.End.Add(-time.Duration(later) * StepLength))
		end := max(0, len(h.steps)-later)
		for _, step := range h.steps[max(0, end-length):end] {
			long[i].add(&step)
			long[i].End = step.End
		}
		long[i].P50, long[i].P99 = long[i].quantile(0.5), long[i].quantile(0.99)
	}
	return long
}
