package client

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits are the rate-limit headers of a response.
type Limits struct {
	// Limit, Remaining and Reset describe the most restrictive window: its quota, how
	// many requests it admits after this one, and when it ends, by the service's clock.
	Limit, Remaining int64
	Reset            time.Time
	// Windows are all windows: "minute" and "day" of the account, or "address" when the
	// key was not valid or could not be checked. They are nil when the counts of the
	// account were unavailable.
	Windows []Window
	// Received is when the response came.
	Received time.Time
}

// Window is a period with a quota.
type Window struct {
	Name      string // such as "minute"
	Limit     int64  // the quota
	Length    time.Duration
	Remaining int64
	Reset     time.Time // when it ends, by this machine's clock, up to a second too late
}

// readLimits reads the rate-limit headers of a response. ok is false if it has none.
func readLimits(h http.Header, received time.Time) (l Limits, ok bool) {
	limit, err1 := strconv.ParseInt(h.Get("X-RateLimit-Limit"), 10, 64)
	remaining, err2 := strconv.ParseInt(h.Get("X-RateLimit-Remaining"), 10, 64)
	reset, err3 := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if cmp.Or(err1, err2, err3) != nil {
		return Limits{}, false
	}
	return Limits{limit, remaining, time.Unix(reset, 0), readWindows(h, received), received}, true
}

// readWindows reads RateLimit and RateLimit-Policy. It returns none unless both tell of
// the same windows: a service that cannot know all counts leaves some out.
func readWindows(h http.Header, received time.Time) []Window {
	states, policies := readList(h.Get("RateLimit")), readList(h.Get("RateLimit-Policy"))
	windows := make([]Window, 0, len(states))
	for _, state := range states {
		i := slices.IndexFunc(policies, func(p item) bool { return p.name == state.name })
		if i < 0 || len(states) != len(policies) {
			return nil
		}
		windows = append(windows, Window{
			Name: state.name, Limit: policies[i].values["q"], Length: seconds(policies[i].values["w"]),
			Remaining: state.values["r"], Reset: received.Add(seconds(state.values["t"])),
		})
	}
	return windows
}

// item is a member of a structured field's list, such as "minute";r=59;t=42.
type item struct {
	name   string
	values map[string]int64
}

// readList reads a list of items.
func readList(field string) []item {
	var items []item
	for member := range strings.SplitSeq(field, ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(member), ";")
		i := item{name: strings.Trim(name, `"`), values: map[string]int64{}}
		for parameter := range strings.SplitSeq(parameters, ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			i.values[key], _ = strconv.ParseInt(value, 10, 64)
		}
		items = append(items, i)
	}
	return items
}

// seconds returns a duration of at most 100 years: more would overflow.
func seconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), 100*365*24*60*60)) * time.Second
}

// room returns the window with the fewest remaining requests, and until when that number
// holds: until the end of that window if none remain, else until the first of the windows
// ends. ok is false if the response has no limits of the account.
func (l *Limits) room() (tightest Window, until time.Time, ok bool) {
	if len(l.Windows) == 0 || l.Windows[0].Name == "address" {
		return Window{}, time.Time{}, false
	}
	tightest = slices.MinFunc(l.Windows, func(a, b Window) int {
		return cmp.Or(cmp.Compare(a.Remaining, b.Remaining), b.Reset.Compare(a.Reset))
	})
	if tightest.Remaining == 0 {
		return tightest, tightest.Reset, true
	}
	first := slices.MinFunc(l.Windows, func(a, b Window) int { return a.Reset.Compare(b.Reset) })
	return tightest, first.Reset, true
}

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
		usage.Windows = append(usage.Windows, WindowUsage{w.Window, w.Limit, w.Used, w.Remaining, time.Unix(w.Reset, 0)})
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
