package httpapi

import (
	"strconv"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/ratelimit"
)

// The rate-limit headers are put into the header map directly: net/http's Set would change
// the contract's spelling to X-Ratelimit-Limit.

// policy has the header values that depend only on a quota.
type policy struct {
	window      string   // the name of a bucket's window; "" for a quota
	all         []string // of RateLimit-Policy
	minute, day []string // of X-RateLimit-Limit
}

// policyOf returns the values of a quota, such as "minute";q=60;w=60, "day";q=1000;w=86400.
func (s *Server) policyOf(q petcat.Quota) *policy {
	known, ok := s.policies.Load(q)
	if !ok {
		all := policyItem(petcat.Minute.String(), q.PerMinute, petcat.Minute) + ", " + policyItem(petcat.Day.String(), q.PerDay, petcat.Day)
		known, _ = s.policies.LoadOrStore(q, &policy{all: []string{all}, minute: integer(q.PerMinute), day: integer(q.PerDay)})
	}
	return known.(*policy)
}

// newBucketPolicy returns the values of a bucket, such as "address";q=600;w=60. Its window is
// not called "minute": that is an account's quota, and clients tell quotas apart by name.
func newBucketPolicy(window string, limit int64) *policy {
	return &policy{window: window, all: []string{policyItem(window, limit, petcat.Minute)}, minute: integer(limit)}
}

func policyItem(name string, quota int64, w petcat.Window) string {
	return `"` + name + `";q=` + strconv.FormatInt(quota, 10) + ";w=" + strconv.FormatInt(w.Seconds(), 10)
}

// integer returns the value of a header that is a number.
func integer(n int64) []string { return []string{strconv.FormatInt(n, 10)} }

// setLimits sets the headers of a decision. RateLimit is such as
// "minute";r=59;t=42, "day";r=999;t=33961.
func (s *Server) setLimits(e *exchange, d ratelimit.Decision) {
	p := s.policyOf(e.caller.Quota)
	limit := p.minute
	if d.Effective.Limit != d.Minute.Limit {
		limit = p.day
	}
	var buf [96]byte
	state := appendState(buf[:0], petcat.Minute.String(), d.Minute, d.Now)
	state = appendState(append(state, ", "...), petcat.Day.String(), d.Day, d.Now)
	e.setHeaders(limit, d.Effective, p, state)
}

// setBucketLimits sets the headers of a bucket.
func (e *exchange) setBucketLimits(p *policy, d ratelimit.BucketDecision) {
	e.setHeaders(p.minute, d.Minute, p, appendState(nil, p.window, d.Minute, d.Now))
}

// setAddressLimits sets the headers of the client's address, for answers without a caller.
func (e *exchange) setAddressLimits() { e.setBucketLimits(e.server.addressPolicy, e.addressState()) }

// addressState returns how many failed attempts the client's address has left.
func (e *exchange) addressState() ratelimit.BucketDecision {
	return e.server.Failures.Peek(clientnet.Of(e.clientAddress()))
}

// setUnknownLimits sets the headers for a caller whose counts are unavailable: its minute
// quota, of which nothing remains for now. They do not mention the day.
func (e *exchange) setUnknownLimits() {
	p := e.server.policyOf(e.caller.Quota)
	now := e.addressState() // only for the time and the end of the minute
	state := ratelimit.WindowState{Limit: e.caller.Quota.PerMinute, Remaining: 0, Reset: now.Minute.Reset}
	e.setHeaders(p.minute, state, p, appendState(nil, petcat.Minute.String(), state, now.Now))
}

// setHeaders sets the rate-limit headers.
func (e *exchange) setHeaders(limit []string, effective ratelimit.WindowState, p *policy, state []byte) {
	e.limitsSet = true
	h := e.Header()
	h["X-RateLimit-Limit"] = limit
	h["X-RateLimit-Remaining"] = integer(effective.Remaining)
	h["X-RateLimit-Reset"] = integer(effective.Reset)
	h["RateLimit"] = []string{string(state)}
	h["RateLimit-Policy"] = p.all
}

// appendState appends an item of RateLimit. now is in nanoseconds since the Unix epoch.
func appendState(dst []byte, name string, w ratelimit.WindowState, now int64) []byte {
	dst = append(append(append(dst, '"'), name...), `";r=`...)
	dst = append(strconv.AppendInt(dst, w.Remaining, 10), ";t="...)
	return strconv.AppendInt(dst, w.SecondsLeft(now), 10)
}
