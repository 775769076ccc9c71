package petcat

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits are the rate-limit headers of a response.
type Limits struct {
	// Limit, Remaining and Reset describe the most restrictive window: its quota, the number of requests
	// left after this one, and when it resets, by the service's clock. Limit is 0 if the response does
	// not have such headers.
	Limit, Remaining int64
	Reset            time.Time
	// Windows are the account's windows, "minute" and "day". They are nil if the service could not read
	// all counts.
	Windows []Window

	ends time.Time // Reset by this machine's clock
	day  bool      // the window is the day
}

// Window is a period with a quota.
type Window struct {
	Name      string // such as "minute"
	Limit     int64  // the quota
	Length    time.Duration
	Remaining int64
	Reset     time.Time // when it resets, by this machine's clock, up to a second late
}

// readLimits reads the headers of a response that has just arrived.
func readLimits(h http.Header) Limits {
	limit, err1 := strconv.ParseInt(h.Get("X-RateLimit-Limit"), 10, 64)
	remaining, err2 := strconv.ParseInt(h.Get("X-RateLimit-Remaining"), 10, 64)
	reset, err3 := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if cmp.Or(err1, err2, err3) != nil {
		return Limits{}
	}
	l := Limits{Limit: limit, Remaining: remaining, Reset: time.Unix(reset, 0), Windows: readWindows(h)}
	left := max(l.Reset.Sub(sentAt(h)), 0)
	// These headers do not identify the window. If it resets in more than a minute, it is the day.
	l.ends, l.day = now().Add(left), left > time.Minute+time.Second
	for _, w := range l.Windows {
		if w.Limit == limit && w.Remaining == remaining {
			l.ends, l.day = w.Reset, w.Name == "day"
		}
	}
	return l
}

// readWindows reads RateLimit and RateLimit-Policy. It returns nil if one of them lacks a window.
func readWindows(h http.Header) (windows []Window) {
	states, policies := readList(h.Get("RateLimit")), readList(h.Get("RateLimit-Policy"))
	for name, state := range states {
		policy := policies[name]
		windows = append(windows, Window{
			Name:      name,
			Limit:     policy["q"],
			Length:    seconds(policy["w"]),
			Remaining: state["r"],
			Reset:     now().Add(seconds(state["t"])),
		})
	}
	if len(states) != len(policies) {
		return nil
	}
	slices.SortFunc(windows, func(a, b Window) int { return cmp.Compare(a.Length, b.Length) })
	return windows
}

// readList parses a structured field, such as "minute";r=59;t=42, "day";r=999;t=3600.
func readList(field string) map[string]map[string]int64 {
	items := map[string]map[string]int64{}
	for member := range strings.SplitSeq(field, ",") {
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

// Usage is an account's use of its quotas.
type Usage struct {
	Plan    string        `json:"plan"` // such as "free"
	Windows []WindowUsage `json:"windows"`
	// Ban is the ban of this key; nil if there is none.
	Ban *Ban `json:"ban"`
	// Bans are the bans of all keys of the account.
	Bans []Ban `json:"bans"`
	// Key is the key that sent the request.
	Key KeyInfo `json:"key"`
	// Storage is the storage of the account's categories.
	Storage StorageUsage `json:"storage"`
}

// StorageUsage is the storage of an account's categories, and its limits.
type StorageUsage struct {
	Bytes         int64 `json:"bytes"` // of their texts as JSON, and 64 for each category
	MaxBytes      int64 `json:"max_bytes"`
	Categories    int64 `json:"categories"`
	MaxCategories int64 `json:"max_categories"` // also of pets, and of orders
}

// WindowUsage is an account's use of a window.
type WindowUsage struct {
	Window    string    `json:"window"` // "minute" or "day"
	Limit     int64     `json:"limit"`
	Used      int64     `json:"used"`
	Remaining int64     `json:"remaining"`
	Reset     Timestamp `json:"reset"` // when it resets, by the service's clock
}

// Ban is a period in which the service rejects a key.
type Ban struct {
	Key   string    `json:"key"`   // its id; "" in [Usage].Ban
	Until Timestamp `json:"until"` // by the service's clock
}

// Timestamp is a time in Unix seconds.
type Timestamp struct{ time.Time }

// UnmarshalJSON reads Unix seconds.
func (t *Timestamp) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	t.Time = time.Unix(n, 0)
	return err
}

// MarshalJSON writes Unix seconds.
func (t Timestamp) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, t.Unix(), 10), nil }

// Usage returns the account's use of its quotas. The request does not count against them and
// does not wait at the gate. Each node of the service allows 60 such requests per minute and account. If
// the response says that the service allows requests again, for example after a plan change, waiting
// calls continue at once.
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

// UsageHistoryOptions selects a part of the usage history, at most 168 hours or 92 days.
type UsageHistoryOptions struct {
	By       string    // "day" or "hour"; "" is the day
	From, To time.Time // of the beginnings of the periods; zero for the last 30 days, or for hours the last day
	Group    string    // "key", "operation", or "" for neither
}

// UsageEntry is the usage of an hour or a day, or of a key or an operation in it.
type UsageEntry struct {
	Start     Timestamp `json:"start"`
	Key       string    `json:"key,omitempty"`       // the id, if grouped by key; "" if not counted separately
	Operation string    `json:"operation,omitempty"` // if grouped by operation; "" if none matched
	Requests  int64     `json:"requests"`            // that were allowed
	Rejected  int64     `json:"rejected"`            // by a quota or a ban
	Failed    int64     `json:"failed"`              // 5xx responses; may also be in Requests
}

// UsageHistory returns the account's requests by the hour or day, without empty periods. Like
// [Client.Usage], the request does not count, and does not wait at the gate.
func (c *Client) UsageHistory(ctx context.Context, o UsageHistoryOptions, options ...Option) ([]UsageEntry, *Response, error) {
	query := url.Values{}
	for name, value := range map[string]string{"by": o.By, "group": o.Group} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"from": o.From, "to": o.To} {
		if !at.IsZero() {
			query.Set(name, strconv.FormatInt(at.Unix(), 10))
		}
	}
	path := usageHistoryPath
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var entries []UsageEntry
	res, err := c.Do(ctx, http.MethodGet, path, nil, &entries, options...)
	return entries, res, err
}
