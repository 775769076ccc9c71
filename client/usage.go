package petcat

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
	// Limit is 0 if the response has no such headers.
	Limit, Remaining int64
	Reset            time.Time
	// Windows are all windows of the account: "minute" and "day". They are nil when the
	// service could not know all counts.
	Windows []Window

	ends time.Time // Reset by this machine's clock
	day  bool      // it is the end of the day
}

// Window is a period with a quota.
type Window struct {
	Name      string // such as "minute"
	Limit     int64  // the quota
	Length    time.Duration
	Remaining int64
	Reset     time.Time // when it ends, by this machine's clock, up to a second too late
}

// readLimits reads the headers of a response that came now.
func readLimits(h http.Header) Limits {
	limit, err1 := strconv.ParseInt(h.Get("X-RateLimit-Limit"), 10, 64)
	remaining, err2 := strconv.ParseInt(h.Get("X-RateLimit-Remaining"), 10, 64)
	reset, err3 := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if cmp.Or(err1, err2, err3) != nil {
		return Limits{}
	}
	l := Limits{Limit: limit, Remaining: remaining, Reset: time.Unix(reset, 0), Windows: readWindows(h)}
	left := max(l.Reset.Sub(sentAt(h)), 0)
	// These headers do not name their window: one that ends in more than a minute is the day.
	l.ends, l.day = now().Add(left), left > time.Minute+time.Second
	for _, w := range l.Windows {
		if w.Limit == limit && w.Remaining == remaining {
			l.ends, l.day = w.Reset, w.Name == "day"
		}
	}
	return l
}

// readWindows reads RateLimit and RateLimit-Policy, of a service that knows all counts.
func readWindows(h http.Header) (windows []Window) {
	states, policies := readList(h.Get("RateLimit")), readList(h.Get("RateLimit-Policy"))
	for name, state := range states {
		policy := policies[name]
		windows = append(windows, Window{
			Name: name, Limit: policy["q"], Length: seconds(policy["w"]), Remaining: state["r"], Reset: now().Add(seconds(state["t"])),
		})
	}
	if len(states) != len(policies) {
		return nil
	}
	slices.SortFunc(windows, func(a, b Window) int { return cmp.Compare(a.Length, b.Length) })
	return windows
}

// readList reads a list of a structured field, such as "minute";r=59;t=42, "day";r=999;t=3600.
func readList(field string) map[string]map[string]int64 {
	items := map[string]map[string]int64{}
	for _, member := range strings.Split(field, ",") {
		parts := strings.Split(member, ";")
		values := map[string]int64{}
		for _, parameter := range parts[1:] {
			key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			values[key], _ = strconv.ParseInt(value, 10, 64)
		}
		if name := strings.Trim(parts[0], ` "`); name != "" {
			items[name] = values
		}
	}
	return items
}

// Usage is what an account has used, and what it may still use.
type Usage struct {
	Plan    string        `json:"plan"` // such as "free"
	Windows []WindowUsage `json:"windows"`
	// Ban is the ban of the key; nil when there is none.
	Ban *Ban `json:"ban"`
	// Bans are those of all keys of the account.
	Bans []Ban `json:"bans"`
	// Key is the key that asks.
	Key KeyInfo `json:"key"`
}

// KeyInfo describes a key.
type KeyInfo struct {
	ID        string     `json:"id"`
	Label     string     `json:"label"`
	ReadOnly  bool       `json:"read_only"`
	ExpiresAt *Timestamp `json:"expires_at"` // nil: never
}

// WindowUsage is what an account has used of a window.
type WindowUsage struct {
	Window    string    `json:"window"` // "minute" or "day"
	Limit     int64     `json:"limit"`
	Used      int64     `json:"used"`
	Remaining int64     `json:"remaining"`
	Reset     Timestamp `json:"reset"` // when it ends, by the service's clock
}

// Ban is a time in which a key is refused.
type Ban struct {
	Key   string    `json:"key"`   // its id; "" in [Usage].Ban
	Until Timestamp `json:"until"` // by the service's clock
}

// Timestamp is a time that the service sends in Unix seconds.
type Timestamp struct{ time.Time }

// UnmarshalJSON reads Unix seconds.
func (t *Timestamp) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	t.Time = time.Unix(n, 0)
	return err
}

// MarshalJSON writes Unix seconds.
func (t Timestamp) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, t.Unix(), 10), nil }

// Usage returns what the account has used. The request counts in no window and does not wait
// at the gate; each node of the service answers 60 such requests of an account in a minute.
// If the response says that the service admits requests again, as after a change of plan or a
// lifted ban, calls that wait at the gate continue at once.
func (c *Client) Usage(ctx context.Context, options ...Option) (Usage, *Response, error) {
	var u Usage
	res, err := c.Do(ctx, http.MethodGet, usagePath, nil, &u, options...)
	if err != nil {
		return Usage{}, res, err
	}
	spent := func(w WindowUsage) bool { return w.Remaining == 0 }
	if u.Ban == nil && len(u.Windows) > 0 && !slices.ContainsFunc(u.Windows, spent) {
		c.gate.reopen()
	}
	return u, res, nil
}
