package petcat

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Limits are the rate-limit headers of a response. They describe the most restrictive window.
type Limits struct {
	Limit     int64     // its quota; 0 if the response has no such headers
	Remaining int64     // how many requests it admits after this one
	Reset     time.Time // when it ends, by the service's clock

	ends time.Time // Reset by this machine's clock, up to a second too late
}

// readLimits reads the headers of a response that came now.
func readLimits(h http.Header) Limits {
	limit, err1 := strconv.ParseInt(h.Get("X-RateLimit-Limit"), 10, 64)
	remaining, err2 := strconv.ParseInt(h.Get("X-RateLimit-Remaining"), 10, 64)
	reset, err3 := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if cmp.Or(err1, err2, err3) != nil {
		return Limits{}
	}
	l := Limits{Limit: limit, Remaining: remaining, Reset: time.Unix(reset, 0)}
	l.ends = now().Add(max(l.Reset.Sub(sentAt(h)), 0))
	return l
}

// Usage is what an account has used, and what it may still use.
type Usage struct {
	Plan    string        `json:"plan"` // such as "free"
	Windows []WindowUsage `json:"windows"`
	// Ban is the ban of the key; nil when there is none.
	Ban *Ban `json:"ban"`
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
