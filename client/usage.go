package client

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// Usage is what an account has used, and what it may still use.
type Usage struct {
	Plan    string // such as "free"
	Windows []WindowUsage
	// Ban is the ban of the key; nil when there is none.
	Ban *Ban
}

// WindowUsage is what an account has used of a window.
type WindowUsage struct {
	Window                 string // "minute" or "day"
	Limit, Used, Remaining int64
	Reset                  time.Time // when it ends, by the service's clock
}

// Ban is a time in which a key is refused.
type Ban struct {
	Until time.Time // by the service's clock
}

// usageResponse is Usage as the service sends it. Times are Unix seconds.
type usageResponse struct {
	Plan    string
	Windows []struct {
		Window                 string
		Limit, Used, Remaining int64
		Reset                  int64
	}
	Ban *struct{ Until int64 }
}

// Usage returns what the account has used. The request counts in no window and does not wait
// at the gate; each node of the service answers 60 such requests of an account in a minute.
// If the response says that the service admits requests again, as after a change of plan or a
// lifted ban, calls that wait at the gate continue at once.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	u, _, err := fetch[usageResponse](ctx, c, &call{
		name: "get usage", method: http.MethodGet, path: "/usage", maxBody: maxBody, retryable: true, uncounted: true,
	})
	if err != nil {
		return Usage{}, err
	}
	usage := Usage{Plan: u.Plan}
	for _, w := range u.Windows {
		usage.Windows = append(usage.Windows, WindowUsage{
			Window: w.Window, Limit: w.Limit, Used: w.Used, Remaining: w.Remaining, Reset: time.Unix(w.Reset, 0),
		})
	}
	if u.Ban != nil {
		usage.Ban = &Ban{Until: time.Unix(u.Ban.Until, 0)}
	}
	spent := func(w WindowUsage) bool { return w.Remaining == 0 }
	if usage.Ban == nil && len(usage.Windows) > 0 && !slices.ContainsFunc(usage.Windows, spent) {
		c.gate.reopen()
	}
	return usage, nil
}
