package pages

import (
	"context"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// Limiter reports the usage of an account without charging it.
type Limiter interface {
	Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
}

// Window is a named window of the limiter.
type Window struct {
	Name string
	ratelimit.WindowState
}

// End returns the end of the window.
func (w Window) End() time.Time { return time.Unix(w.Reset, 0) }

// Windows returns the windows of an account, or nil if its usage is unknown.
func (x *Exchange) Windows(l Limiter, a petcat.Account) []Window {
	if a.Closed() {
		return nil
	}
	d, err := l.Peek(x.R.Context(), ratelimit.Charge{
		Account: a.ID,
		Quota:   a.Quota,
	})
	if err != nil {
		return nil
	}
	return []Window{
		{"this minute", d.Minute},
		{"today", d.Day},
	}
}

// usageChart is a usage history for its chart. Times are Unix seconds.
type usageChart struct {
	From int64 `json:"from"`
	// Periods have their beginning, and the numbers of allowed, rejected and failed requests.
	Periods [][4]int64 `json:"periods"`
	Step    float64    `json:"step"` // in seconds
	To      int64      `json:"to"`
}

// WriteUsage sends the usage history of a query for its chart. The chart ends now at the latest,
// because a browser draws every period until its end.
func (x *Exchange) WriteUsage(q petcat.UsageQuery, h petcat.UsageHistory) error {
	chart := usageChart{
		From:    q.Step.Floor(q.From).Unix(),
		To:      min(q.To.Unix(), x.site.now().Unix()),
		Step:    q.Step.Length().Seconds(),
		Periods: [][4]int64{},
	}
	for _, p := range h.Periods {
		chart.Periods = append(chart.Periods, [4]int64{
			p.Begin.Unix(),
			p.Requests,
			p.Rejected(),
			p.Failed,
		})
	}
	return x.WriteJSON(chart)
}
