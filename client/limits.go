package client

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The headers that tell the limits.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
	headerState     = "RateLimit"
	headerPolicy    = "RateLimit-Policy"
	headerRequestID = "X-Request-Id"
)

// addressWindow is the name of the window of a client's address. It is in responses to
// requests whose account the service does not know.
const addressWindow = "address"

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
	Name      string        // such as "minute"
	Limit     int64         // the quota
	Length    time.Duration // 0 when it is unknown
	Remaining int64
	Reset     time.Time // when it ends, by this machine's clock, up to a second too late
}

// readLimits reads the rate-limit headers of a response. ok is false if it has none.
func readLimits(h http.Header, received time.Time) (l Limits, ok bool) {
	limit, err1 := strconv.ParseInt(h.Get(headerLimit), 10, 64)
	remaining, err2 := strconv.ParseInt(h.Get(headerRemaining), 10, 64)
	reset, err3 := strconv.ParseInt(h.Get(headerReset), 10, 64)
	if cmp.Or(err1, err2, err3) != nil {
		return Limits{}, false
	}
	l = Limits{Limit: limit, Remaining: remaining, Reset: time.Unix(reset, 0), Received: received}
	if h.Get(headerState) != "" {
		l.Windows = readWindows(h, received)
		return l, true
	}
	// Without RateLimit, the X-RateLimit headers have one window, by the service's clock.
	sent := received
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		sent = date
	}
	l.Windows = []Window{{Limit: limit, Remaining: remaining, Reset: received.Add(l.Reset.Sub(sent))}}
	return l, true
}

// readWindows reads RateLimit and RateLimit-Policy. It returns none unless both tell of
// the same windows: a service that cannot know all counts leaves some out.
func readWindows(h http.Header, received time.Time) []Window {
	states, policies := readList(h.Get(headerState)), readList(h.Get(headerPolicy))
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

// readList reads a list of items. It leaves out what is no number.
func readList(field string) []item {
	var items []item
	for member := range strings.SplitSeq(field, ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(member), ";")
		i := item{name: strings.Trim(name, `"`), values: map[string]int64{}}
		for parameter := range strings.SplitSeq(parameters, ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				i.values[key] = n
			}
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
	if len(l.Windows) == 0 || l.Windows[0].Name == addressWindow {
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
