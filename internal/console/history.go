package console

import (
	"encoding/json"
	"time"

	"petcat"
)

// Span is how far back a chart goes.
type Span string

// The spans.
const (
	Hour Span = "hour"
	Day  Span = "day"
)

// Step is what happened on this node in a short time.
type Step struct {
	End  time.Time
	Took time.Duration
	// How many requests were answered, by their status: below 400, refused by reason (401
	// and 429, see [Refusals]), other errors of the caller, and failures of the service.
	Good, Refused, Faulty, Failed int64
	Reasons                       map[petcat.Code]int64
	// P50 and P99 are the 50th and 99th percentile of the durations, 0 without requests.
	P50, P99  time.Duration
	Unhealthy []string // the parts that were unhealthy at the end of the step
}

// Refusals are the reasons to refuse a caller, in the order of the charts.
func Refusals() []petcat.Code {
	return []petcat.Code{
		petcat.CodeRateLimitExceeded, petcat.CodeDailyQuotaExceeded, petcat.CodeKeyBanned, petcat.CodeTooManyFailedAttempts,
		petcat.CodeInvalidAPIKey, petcat.CodeMissingAPIKey, petcat.CodeExpiredAPIKey, petcat.CodeRevokedAPIKey, petcat.CodeDisabledAPIKey,
	}
}

// chart is the history as the charts take it: columns, of which the first has the times in
// Unix seconds.
type chart struct {
	Requests [][]*float64 `json:"requests"` // a second: good, refused, faulty, failed
	Reasons  [][]*float64 `json:"reasons"`  // a second: see Refusals
	Latency  [][]*float64 `json:"latency"`  // milliseconds: P50, P99
}

func newChart(steps []Step) chart {
	c := chart{Requests: make([][]*float64, 5), Reasons: make([][]*float64, 1+len(Refusals())), Latency: make([][]*float64, 3)}
	// There is a gap where nothing is known, and in the latency where there was no request.
	add := func(columns [][]*float64, at time.Time, known bool, values ...float64) {
		for i, value := range append([]float64{float64(at.Unix())}, values...) {
			if i == 0 || known {
				columns[i] = append(columns[i], &value)
			} else {
				columns[i] = append(columns[i], nil)
			}
		}
	}
	for _, s := range steps {
		known, rate := s.Took > 0, func(n int64) float64 { return float64(n) / max(s.Took, 1).Seconds() }
		add(c.Requests, s.End, known, rate(s.Good), rate(s.Refused), rate(s.Faulty), rate(s.Failed))
		var reasons []float64
		for _, code := range Refusals() {
			reasons = append(reasons, rate(s.Reasons[code]))
		}
		add(c.Reasons, s.End, known, reasons...)
		add(c.Latency, s.End, s.P99 > 0, milliseconds(s.P50), milliseconds(s.P99))
	}
	return c
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// history answers with what the charts show.
func history(x *exchange) error {
	text, err := json.Marshal(newChart(x.History(x.span())))
	if err != nil {
		return err
	}
	x.respondJSON(text)
	return nil
}

func (x *exchange) span() Span {
	if Span(x.value("span")) == Day {
		return Day
	}
	return Hour
}
