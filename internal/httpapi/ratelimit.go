package httpapi

import (
	"strconv"
	"sync"
	"sync/atomic"

	"petcat"
	"petcat/internal/clientnet"
	"petcat/internal/ratelimit"
)

// The rate-limit headers. net/http would write the first three as X-Ratelimit-*. To keep the
// spelling of the contract, they are put into the header map directly.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
	headerState     = "RateLimit"
	headerPolicy    = "RateLimit-Policy"
	headerRequestID = "X-Request-Id"
)

// policy has the header values that depend only on a quota.
type policy struct {
	quota       petcat.Quota
	window      string   // the name of a bucket's window; "" for a quota
	policy      []string // of RateLimit-Policy
	minute, day []string // of X-RateLimit-Limit
}

func newPolicy(q petcat.Quota) *policy {
	return &policy{
		quota:  q,
		policy: []string{quotaPolicy(q)},
		minute: []string{strconv.FormatInt(q.PerMinute, 10)},
		day:    []string{strconv.FormatInt(q.PerDay, 10)},
	}
}

// newBucketPolicy returns the values of a bucket, such as "address";q=600;w=60.
func newBucketPolicy(window string, limit int64) *policy {
	value := string(appendPolicy(nil, window, limit, petcat.Minute))
	return &policy{window: window, policy: []string{value}, minute: []string{strconv.FormatInt(limit, 10)}}
}

// policies keeps each policy by its quota. There are only as many as operators have agreed
// on quotas, so they are never dropped. The last one is found without a lookup.
type policies struct {
	last    atomic.Pointer[policy]
	byQuota sync.Map
}

func (p *policies) of(q petcat.Quota) *policy {
	if last := p.last.Load(); last != nil && last.quota == q {
		return last
	}
	known, ok := p.byQuota.Load(q)
	if !ok {
		known, _ = p.byQuota.LoadOrStore(q, newPolicy(q))
	}
	found := known.(*policy)
	p.last.Store(found)
	return found
}

// setRateLimit sets the headers of a decision.
func (s *Server) setRateLimit(e *exchange, d ratelimit.Decision) {
	p := s.policies.of(e.caller.Quota)
	limit := p.minute
	if d.Effective.Limit != d.Minute.Limit {
		limit = p.day
	}
	var buf [160]byte
	text, ends := appendRemainingReset(buf[:0], d.Effective)
	e.setChanging(string(AppendRateLimit(text, d)), ends)
	h := e.header()
	h[headerLimit] = limit
	h[headerPolicy] = p.policy
}

// setAddressRateLimit sets the headers of the client's address, for answers without a
// caller.
func (s *Server) setAddressRateLimit(e *exchange) {
	e.setBucketRateLimit(s.addressPolicy, s.failures.Peek(clientnet.Of(s.clientAddress(e))))
}

// setBucketRateLimit sets the headers of a bucket.
func (e *exchange) setBucketRateLimit(p *policy, d ratelimit.BucketDecision) {
	var buf [160]byte
	text, ends := appendRemainingReset(buf[:0], d.Minute)
	e.setChanging(string(appendRateLimitItem(text, p.window, d.Minute, d.Now)), ends)
	h := e.header()
	h[headerLimit] = p.minute
	h[headerPolicy] = p.policy
}

// setUnknownRateLimit sets the headers for a caller whose counts are unavailable: its minute
// quota, of which nothing remains for now. They do not mention the day.
func (s *Server) setUnknownRateLimit(e *exchange) {
	p := s.policies.of(e.caller.Quota)
	bucket := s.failures.Peek(clientnet.Of(s.clientAddress(e))) // only for its time and the end of its minute, which is that of every minute
	state := ratelimit.WindowState{Limit: p.quota.PerMinute, Remaining: 0, Reset: bucket.Minute.Reset}
	text, ends := appendRemainingReset(nil, state)
	e.setChanging(string(appendMinuteRateLimit(text, state, bucket.Now)), ends)
	h := e.header()
	h[headerLimit] = p.minute
	h[headerPolicy] = p.policy
}

// appendRemainingReset appends the values of X-RateLimit-Remaining and X-RateLimit-Reset,
// and returns where each of them ends.
func appendRemainingReset(dst []byte, effective ratelimit.WindowState) (text []byte, ends [2]int) {
	dst = strconv.AppendInt(dst, effective.Remaining, 10)
	ends[0] = len(dst)
	dst = strconv.AppendInt(dst, effective.Reset, 10)
	ends[1] = len(dst)
	return dst, ends
}

// setChanging sets the headers that change with every request. To save allocations, their
// values share one string, text, and one array. They must not be part of the exchange:
// net/http writes them after the handler has returned.
func (e *exchange) setChanging(text string, ends [2]int) {
	e.limitsSet = true
	values := &[4]string{text[:ends[0]], text[ends[0]:ends[1]], text[ends[1]:], e.RequestID}
	h := e.header()
	h[headerRemaining] = values[0:1:1]
	h[headerReset] = values[1:2:2]
	h[headerState] = values[2:3:3]
	h[headerRequestID] = values[3:4:4]
}
