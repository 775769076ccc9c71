package httpapi

import (
	"fmt"
	"strconv"
	"sync"

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

// The names of the windows of failed credentials and of free requests. They are not
// "minute": that is the name of an account's minute quota, and clients tell quotas apart by
// their names.
const (
	addressWindow = "address"
	usageWindow   = "usage"
)

// policy has the header values that depend only on a quota.
type policy struct {
	window      string   // the name of the window of minute
	policy      []string // of RateLimit-Policy, in the form of the IETF draft
	minute, day []string // of X-RateLimit-Limit
}

func newPolicy(q petcat.Quota) *policy {
	return &policy{
		window: petcat.Minute.String(),
		policy: []string{fmt.Sprintf(`"%s";q=%d;w=%d, "%s";q=%d;w=%d`, petcat.Minute, q.PerMinute, petcat.Minute.Seconds(), petcat.Day, q.PerDay, petcat.Day.Seconds())},
		minute: []string{strconv.FormatInt(q.PerMinute, 10)},
		day:    []string{strconv.FormatInt(q.PerDay, 10)},
	}
}

// newBucketPolicy returns the values of a bucket, such as "address";q=600;w=60.
func newBucketPolicy(window string, limit int64) *policy {
	return &policy{
		window: window,
		policy: []string{fmt.Sprintf(`"%s";q=%d;w=%d`, window, limit, petcat.Minute.Seconds())},
		minute: []string{strconv.FormatInt(limit, 10)},
	}
}

// policies keeps each policy by its quota. There are only as many as operators have agreed
// on quotas, so they are never dropped.
type policies struct{ byQuota sync.Map }

func (p *policies) of(q petcat.Quota) *policy {
	known, ok := p.byQuota.Load(q)
	if !ok {
		known, _ = p.byQuota.LoadOrStore(q, newPolicy(q))
	}
	return known.(*policy)
}

// setRateLimit sets the headers of a decision.
func (s *Server) setRateLimit(e *exchange, d ratelimit.Decision) {
	p := s.policies.of(e.caller.Quota)
	limit := p.minute
	if d.Effective.Limit != d.Minute.Limit {
		limit = p.day
	}
	state := append(appendState(make([]byte, 0, 64), p.window, d.Minute, d.Now), ", "...)
	e.setLimits(p, limit, d.Effective, appendState(state, petcat.Day.String(), d.Day, d.Now))
}

// setAddressRateLimit sets the headers of the client's address, for answers without a
// caller.
func (s *Server) setAddressRateLimit(e *exchange) {
	e.setMinuteLimit(s.addressPolicy, s.Failures.Peek(clientnet.Of(s.clientAddress(e))))
}

// setUnknownRateLimit sets the headers for a caller whose counts are unavailable: its minute
// quota, of which nothing remains for now. They do not mention the day.
func (s *Server) setUnknownRateLimit(e *exchange) {
	d := s.Failures.Peek(clientnet.Of(s.clientAddress(e))) // only for its time and the end of its minute, which is that of every minute
	d.Minute.Remaining = 0
	e.setMinuteLimit(s.policies.of(e.caller.Quota), d)
}

// setMinuteLimit sets the headers of what has only a minute.
func (e *exchange) setMinuteLimit(p *policy, d ratelimit.BucketDecision) {
	e.setLimits(p, p.minute, d.Minute, appendState(nil, p.window, d.Minute, d.Now))
}

// setLimits sets the rate-limit headers and the request id. Those that change share one
// array, to save allocations. It must not be part of the exchange: net/http writes them after
// the handler has returned.
func (e *exchange) setLimits(p *policy, limit []string, effective ratelimit.WindowState, state []byte) {
	e.limitsSet = true
	values := &[4]string{strconv.FormatInt(effective.Remaining, 10), strconv.FormatInt(effective.Reset, 10), string(state), e.RequestID}
	h := e.header()
	h[headerLimit] = limit
	h[headerPolicy] = p.policy
	h[headerRemaining] = values[0:1:1]
	h[headerReset] = values[1:2:2]
	h[headerState] = values[2:3:3]
	h[headerRequestID] = values[3:4:4]
}

// appendState appends an item of RateLimit in the form of the IETF draft, such as
// "minute";r=59;t=42.
func appendState(dst []byte, window string, s ratelimit.WindowState, now int64) []byte {
	dst = append(append(append(dst, '"'), window...), `";r=`...)
	dst = append(strconv.AppendInt(dst, s.Remaining, 10), ";t="...)
	return strconv.AppendInt(dst, s.SecondsLeft(now), 10)
}
