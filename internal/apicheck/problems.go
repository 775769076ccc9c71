package apicheck

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petcat-api/petcat"
)

var (
	statePattern  = regexp.MustCompile(`^("(address|usage|changes)";r=\d+;t=\d+|"minute";r=\d+;t=\d+(, "day";r=\d+;t=\d+)?)$`)
	policyPattern = regexp.MustCompile(`^("(address|usage)";q=\d+;w=60|"changes";q=\d+;w=86400|"minute";q=\d+;w=60, "day";q=\d+;w=86400)$`)
)

// Problems returns the faults of a response. The service sent it between the Unix seconds sent
// and received, on the limiter's clock.
func Problems(res *http.Response, body []byte, sent, received int64) []string {
	p := &problems{h: res.Header}
	p.limits(res.StatusCode, sent, received)
	if p.h.Get("X-Request-Id") == "" {
		p.addf("no X-Request-Id")
	}
	var code petcat.Code
	if res.StatusCode >= http.StatusBadRequest {
		code = p.errorBody(res, body)
	}
	p.companions(res.StatusCode, code)
	p.crossOrigin()
	return p.found
}

type problems struct {
	h     http.Header
	found []string
}

func (p *problems) addf(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

// number parses a header that must occur once and have a non-negative integer.
func (p *problems) number(name string) int64 {
	values := p.h.Values(name)
	if len(values) != 1 {
		p.addf("%s occurs %d times, want once", name, len(values))
		return 0
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < 0 {
		p.addf("%s is %q, not a whole number", name, values[0])
	}
	return n
}

func (p *problems) limits(status int, sent, received int64) {
	limit, remaining, reset := p.number("X-RateLimit-Limit"), p.number("X-RateLimit-Remaining"), p.number("X-RateLimit-Reset")
	if limit < 1 {
		p.addf("X-RateLimit-Limit is %d", limit)
	}
	if remaining > limit {
		p.addf("X-RateLimit-Remaining %d is above the limit %d", remaining, limit)
	}
	if reset <= sent {
		p.addf("X-RateLimit-Reset %d is not after now, %d", reset, sent)
	}
	if state := p.h.Get("RateLimit"); !statePattern.MatchString(state) {
		p.addf("RateLimit is %q", state)
	}
	if policy := p.h.Get("RateLimit-Policy"); !policyPattern.MatchString(policy) {
		p.addf("RateLimit-Policy is %q", policy)
	}
	name := func(header string) string { return strings.SplitN(p.h.Get(header)+`"`, `"`, 3)[1] }
	if name("RateLimit") != name("RateLimit-Policy") {
		p.addf("RateLimit and RateLimit-Policy name different policies")
	}
	if status != http.StatusTooManyRequests {
		return
	}
	if remaining != 0 {
		p.addf("X-RateLimit-Remaining is %d on a 429", remaining)
	}
	// Clients start waiting when they receive the response.
	if after := p.number("Retry-After"); after < 1 || received+after < reset {
		p.addf("Retry-After %d at %d is earlier than the reset at %d", after, received, reset)
	}
}

// errorBody checks the contract's Error object and returns its code.
func (p *problems) errorBody(res *http.Response, body []byte) (code petcat.Code) {
	if kind := p.h.Get("Content-Type"); kind != "application/json" {
		p.addf("the error's Content-Type is %q", kind)
	}
	if res.Request != nil && res.Request.Method == http.MethodHead {
		return ""
	}
	// Not into a struct, whose member names match in any case.
	var members map[string]json.RawMessage
	var message string
	var status int
	if json.Unmarshal(body, &members) != nil || len(members) != 3 ||
		json.Unmarshal(members["code"], &code) != nil || json.Unmarshal(members["message"], &message) != nil || json.Unmarshal(members["status"], &status) != nil {
		p.addf("the error's body is not {code, message, status}: %.200q", body)
		return code
	}
	if !slices.Contains(documentedCodes(), any(string(code))) {
		p.addf("the error's code %q is not documented", code)
	}
	if message == "" || status != res.StatusCode {
		p.addf("the error's body has a wrong status or no message: %.200q", body)
	}
	return code
}

// crossOrigin checks the CORS headers.
func (p *problems) crossOrigin() {
	allowed := p.h.Values("Access-Control-Allow-Origin")
	if len(allowed) > 1 {
		p.addf("Access-Control-Allow-Origin occurs %d times", len(allowed))
	}
	if len(allowed) > 0 && allowed[0] != "*" && !strings.Contains(strings.Join(p.h.Values("Vary"), ", "), "Origin") {
		p.addf("Access-Control-Allow-Origin is %q without Vary: Origin", allowed[0])
	}
	if p.h.Get("Access-Control-Allow-Credentials") != "" {
		p.addf("Access-Control-Allow-Credentials is set, but the service uses no cookies")
	}
}

// companions checks the headers that a status or code requires for every operation. The OpenAPI document
// describes single operations' headers.
func (p *problems) companions(status int, code petcat.Code) {
	need := map[int]string{
		http.StatusUnauthorized:       "WWW-Authenticate",
		http.StatusMethodNotAllowed:   "Allow",
		http.StatusTooManyRequests:    "Retry-After",
		http.StatusServiceUnavailable: "Retry-After",
	}
	name := need[status]
	if code == petcat.CodeIdempotencyInProgress {
		name = "Retry-After"
	}
	if name != "" && p.h.Get(name) == "" {
		p.addf("no %s", name)
	}
	about := code == petcat.CodeMissingField || code == petcat.CodeInvalidField
	if named := p.h.Get(
		"X-Error-Field") != ""; named && !about && (code != "" || status < http.StatusBadRequest) || code == petcat.CodeMissingField && !named {
		p.addf("X-Error-Field is %q for the code %s", p.h.Get("X-Error-Field"), code)
	}
	if code == petcat.CodeCategoryInUse && p.h.Get("Retry-After") != "" {
		p.addf("has a Retry-After, but waiting does not help")
	}
}
