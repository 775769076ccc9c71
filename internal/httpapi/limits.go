package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/web"
)

const (
	// FailuresPerMinute is the limit of failed credentials per minute and address. It is high
	// enough for an office with one address and a wrong key in a script, and too low to guess
	// keys.
	FailuresPerMinute = 600
	// PeeksPerMinute is the limit of usage requests per minute, account and node. They do
	// not count against the account's quotas.
	PeeksPerMinute = 60
)

// limit charges the account and calls next, or rejects the request. It sets the rate-limit headers
// before any later step can respond.
func (s *Server) limit(next handler) handler {
	return func(e *exchange) error {
		s.find(e)
		if e.caller == nil {
			return s.rejectUnauthenticated(e)
		}
		if e.endpoint != nil && e.endpoint.Free {
			return s.limitFree(e, next)
		}
		d, err := s.options.Limiter.Spend(e.r.Context(), e.charge())
		if err != nil {
			return err
		}
		s.setLimits(e, d)
		e.Decision = d
		if d.Outcome != ratelimit.Allowed {
			e.retryAfter = d.RetryAfter
			return rejection(d)
		}
		s.options.Charged(e.caller.Account, e.caller.Key, e.Operation, d.Now)
		return next(e)
	}
}

func (e *exchange) charge() ratelimit.Charge {
	return ratelimit.Charge{Account: e.caller.Account, Key: e.caller.Key, Quota: e.caller.Quota}
}

// limitFree calls next without charging the account. A separate bucket limits these requests. next
// sets the rate-limit headers.
func (s *Server) limitFree(e *exchange, next handler) error {
	if d := s.options.Peeks.Take(e.caller.Account); d.Rejected {
		e.setBucketLimits(s.usagePolicy, d)
		e.retryAfter = d.RetryAfter
		return petcat.Errorf(petcat.CodeRateLimitExceeded,
			"an account may read its usage and its key %d times per minute; retry in %s",
			d.Minute.Limit, wait(d.RetryAfter))
	}
	return next(e)
}

// rejectUnauthenticated rejects a request without a valid key. An invalid credential, and a valid one at
// an address where it does not work, counts as a failed attempt of that address. A missing one does not.
func (s *Server) rejectUnauthenticated(e *exchange) error {
	code := petcat.CodeOf(e.authError)
	failed := web.StatusOf(code) == http.StatusUnauthorized || code == petcat.CodeAddressNotAllowed
	if code == petcat.CodeMissingAPIKey || !failed {
		return e.authError
	}
	if err := s.countFailure(e); err != nil {
		return err
	}
	return e.authError
}

// countFailure counts a failed attempt of the client's address, and sets the headers. It returns the error
// 429 if there were too many.
func (s *Server) countFailure(e *exchange) error {
	d := s.options.Door.Fail(clientnet.Of(e.clientAddress()))
	e.setBucketLimits(s.addressPolicy, d)
	if d.Rejected {
		e.retryAfter = d.RetryAfter
		return petcat.Errorf(petcat.CodeTooManyFailedAttempts,
			"too many requests with a wrong API key came from your address; check the key, and try again in %s",
			wait(d.RetryAfter))
	}
	return nil
}

// rejection returns the error for a rejected request.
func rejection(d ratelimit.Decision) error {
	switch d.Outcome {
	case ratelimit.Banned:
		spent := ""
		if d.SpentBeyondBan {
			spent = ", and its account's requests are used up"
		}
		return petcat.Errorf(petcat.CodeKeyBanned, "this API key is banned%s until %s "+
			"because it kept sending requests after a 429; wait for the time in Retry-After",
			spent, moment(d.Effective.Reset))
	case ratelimit.DaySpent:
		return petcat.Errorf(petcat.CodeDailyQuotaExceeded,
			"all %d requests of today are used; the quota resets at %s%s",
			d.Day.Limit, moment(d.Day.Reset), warning(d))
	default:
		return petcat.Errorf(petcat.CodeRateLimitExceeded,
			"all %d requests of this minute are used; retry in %s%s",
			d.Minute.Limit, wait(d.RetryAfter), warning(d))
	}
}

// warning returns the number of early retries until a ban as a phrase, or "" if the key is far from
// a ban.
func warning(d ratelimit.Decision) string {
	switch {
	case !d.Warn:
		return ""
	case d.EarlyRetriesLeft == 0:
		return "; the next early retry will ban this key"
	default:
		return "; " + strconv.FormatInt(d.EarlyRetriesLeft+1, 10) + " more early retries will ban this key"
	}
}

func moment(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

func wait(seconds int64) string {
	if seconds == 1 {
		return "1 second"
	}
	return strconv.FormatInt(seconds, 10) + " seconds"
}

// The rate-limit headers are written to the header map directly, because Set would change the
// contract's spelling to X-Ratelimit-Limit.

// policy has the header values that depend only on a quota.
type policy struct {
	window string   // the name of a bucket's window; "" for a quota
	all    []string // RateLimit-Policy
	minute []string // X-RateLimit-Limit
	day    []string // X-RateLimit-Limit
}

// policyOf returns the policy of a quota, such as "minute";q=60;w=60, "day";q=1000;w=86400.
func (s *Server) policyOf(q petcat.Quota) *policy {
	known, ok := s.policies.Load(q)
	if !ok {
		minute := policyItem(petcat.Minute.String(), q.PerMinute, petcat.Minute)
		day := policyItem(petcat.Day.String(), q.PerDay, petcat.Day)
		known, _ = s.policies.LoadOrStore(q, &policy{
			all:    []string{minute + ", " + day},
			minute: integer(q.PerMinute),
			day:    integer(q.PerDay),
		})
	}
	return known.(*policy)
}

// newBucketPolicy returns the policy of a bucket, such as "address";q=600;w=60. The name is not
// "minute", because clients distinguish quotas by name.
func newBucketPolicy(window string, limit int64, length petcat.Window) *policy {
	return &policy{
		window: window,
		all:    []string{policyItem(window, limit, length)},
		minute: integer(limit),
	}
}

func policyItem(name string, quota int64, w petcat.Window) string {
	return fmt.Sprintf(`"%s";q=%d;w=%d`, name, quota, w.Seconds())
}

// integer returns a number as a header value.
func integer(n int64) []string { return []string{strconv.FormatInt(n, 10)} }

// setLimits sets the headers of a decision, such as RateLimit:
// "minute";r=59;t=42, "day";r=999;t=33961.
func (s *Server) setLimits(e *exchange, d ratelimit.Decision) {
	p := s.policyOf(e.caller.Quota)
	limit := p.minute
	if d.Window == petcat.Day {
		limit = p.day
	}
	var buf [96]byte
	state := appendState(buf[:0], petcat.Minute.String(), d.Minute, d.Now)
	state = appendState(append(state, ", "...), petcat.Day.String(), d.Day, d.Now)
	e.setHeaders(limit, d.Effective, p, state, d.Now)
}

// refresh updates the rate-limit headers, because the request body may have taken seconds to arrive,
// or to be discarded.
func (s *Server) refresh(e *exchange) {
	now := s.options.Clock.Read()
	// The headers follow the limiter's clock, which may be the database's.
	at := min(e.decided+int64(now.Since(e.start)), now.Wall)
	switch second := at / int64(time.Second); {
	case now.Wall/int64(time.Second) == e.start.Wall/int64(time.Second):
	case e.Decision.Allowed && !e.ownLimits:
		s.setLimits(e, e.Decision.At(at))
	case e.reset <= second: // the rejecting window was reset
		e.setDate(at)
		e.set("X-RateLimit-Reset", strconv.FormatInt(second+1, 10))
	}
}

// date is a value of the Date header.
type date struct {
	second int64
	header []string
}

// setDate sets the Date header to a time of the clock that decided. The default is the time of this
// node's clock, by which X-RateLimit-Reset may have passed. It keeps the value of the last second.
func (e *exchange) setDate(now int64) {
	second := now / int64(time.Second)
	d := e.server.date.Load()
	if d == nil || d.second != second {
		d = &date{second, []string{time.Unix(second, 0).UTC().Format(http.TimeFormat)}}
		e.server.date.Store(d)
	}
	e.Header()["Date"] = d.header
}

// setBucketLimits sets the headers of a bucket.
func (e *exchange) setBucketLimits(p *policy, d ratelimit.BucketDecision) {
	e.setHeaders(p.minute, d.Minute, p, appendState(nil, p.window, d.Minute, d.Now), d.Now)
}

// setOtherLimits sets the headers of a response without a decision. If the caller's counts are
// unavailable, they show the minute quota with 0 remaining. Without a caller, they show the
// remaining failed attempts of the client's address.
func (e *exchange) setOtherLimits() {
	d := e.server.options.Door.State(clientnet.Of(e.clientAddress()))
	if e.caller == nil {
		e.setBucketLimits(e.server.addressPolicy, d)
		return
	}
	p := e.server.policyOf(e.caller.Quota)
	spent := ratelimit.WindowState{
		Limit: e.caller.Quota.PerMinute,
		Used:  e.caller.Quota.PerMinute,
		Reset: d.Minute.Reset,
	}
	e.setHeaders(p.minute, spent, p, appendState(nil, petcat.Minute.String(), spent, d.Now), d.Now)
}

// setHeaders sets the rate-limit headers. now is the time of the decision.
func (e *exchange) setHeaders(limit []string, effective ratelimit.WindowState, p *policy, state []byte, now int64) {
	e.reset, e.decided = effective.Reset, now
	e.setDate(now)
	h := e.Header()
	h["X-RateLimit-Limit"] = limit
	e.set("X-RateLimit-Remaining", strconv.FormatInt(effective.Remaining(), 10))
	e.set("X-RateLimit-Reset", strconv.FormatInt(effective.Reset, 10))
	e.set("RateLimit", string(state))
	h["RateLimit-Policy"] = p.all
}

// appendState appends an item of the RateLimit header. now is in nanoseconds since the Unix epoch.
func appendState(dst []byte, name string, w ratelimit.WindowState, now int64) []byte {
	dst = append(dst, '"')
	dst = append(dst, name...)
	dst = append(dst, `";r=`...)
	dst = strconv.AppendInt(dst, w.Remaining(), 10)
	dst = append(dst, ";t="...)
	return strconv.AppendInt(dst, w.SecondsLeft(now), 10)
}

// usage is the response of getUsage. Times are in seconds since the Unix epoch.
type usage struct {
	Plan    petcat.Plan   `json:"plan"`
	Windows []windowUsage `json:"windows"`
	Ban     *banUsage     `json:"ban"` // of the caller's key; nil without a ban
	Bans    []keyBan      `json:"bans"`
	Key     keyJSON       `json:"key"`
	Storage storageUsage  `json:"storage"`
}

type storageUsage struct {
	Bytes         int64 `json:"bytes"`
	MaxBytes      int64 `json:"max_bytes"`
	Categories    int64 `json:"categories"`
	MaxCategories int64 `json:"max_categories"`
}

type windowUsage struct {
	Window    string `json:"window"`
	Limit     int64  `json:"limit"`
	Used      int64  `json:"used"`
	Remaining int64  `json:"remaining"`
	Reset     int64  `json:"reset"`
}

type banUsage struct {
	Until int64 `json:"until"`
}

type keyBan struct {
	Key   string `json:"key"`
	Until int64  `json:"until"`
}

// getUsage handles GET /usage.
func (s *Server) getUsage(e *exchange) error {
	key, err := s.options.Store.FindKey(e.r.Context(), e.caller.Key)
	if err != nil {
		return err
	}
	bans, err := s.options.Store.BanPage(e.r.Context(), petcat.BanQuery{
		Active:  time.Unix(0, e.start.Wall),
		Account: e.caller.Account,
		Limit:   petcat.MaxPage,
	})
	if err != nil {
		return err
	}
	d, err := s.options.Limiter.Peek(e.r.Context(), e.charge())
	if err != nil {
		return err
	}
	s.setLimits(e, d)
	response := usage{
		Plan: e.caller.Plan,
		Windows: []windowUsage{
			usageOf(petcat.Minute, d.Minute),
			usageOf(petcat.Day, d.Day),
		},
		Key: keyOf(key),
	}
	stored := s.options.Catalog.Holdings(e.caller.Account).Account
	response.Storage = storageUsage{
		Bytes:         stored.Bytes,
		MaxBytes:      e.caller.Storage.Bytes,
		Categories:    stored.Categories,
		MaxCategories: e.caller.Storage.Categories,
	}
	if d.BanEnds != 0 {
		response.Ban = &banUsage{Until: d.BanEnds}
	}
	for _, b := range bans {
		if !b.Shadow {
			response.Bans = append(response.Bans, keyBan{Key: b.Key.String(), Until: b.EndsAt.Unix()})
		}
	}
	e.sendJSON(http.StatusOK, marshal(response))
	return nil
}

func usageOf(w petcat.Window, s ratelimit.WindowState) windowUsage {
	return windowUsage{
		Window:    w.String(),
		Limit:     s.Limit,
		Used:      s.Used,
		Remaining: s.Remaining(),
		Reset:     s.Reset,
	}
}
