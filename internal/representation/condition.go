package representation

import (
	"net/http"
	"slices"
	"strings"
)

// Outcome is the result of evaluating the conditions of a request.
type Outcome uint8

// The outcomes.
const (
	Proceed     Outcome = iota
	NotModified         // 304
	Failed              // 412
)

// Conditional reports whether a request's outcome depends on which representation the
// server has. If-Match: * alone only asks for one.
func Conditional(r *http.Request) bool {
	lines := r.Header["If-Match"]
	return len(r.Header["If-None-Match"]) > 0 || len(lines) > 0 && !isAny(lines)
}

// Evaluate evaluates If-Match and If-None-Match, in this order (section 13.2.2).
// selected is the entity tag of the representation that a GET of this caller
// would have, current are those of all representations of the resource, each in
// its quotes; they are strong.
//
// If-Unmodified-Since and If-Modified-Since are ignored, as the RFC requires for resources
// without Last-Modified.
func Evaluate(r *http.Request, selected string, current ...string) Outcome {
	if lines := r.Header["If-Match"]; len(lines) > 0 && !matches(lines, true, current) {
		return Failed
	}
	lines := r.Header["If-None-Match"]
	switch {
	case len(lines) == 0 || !matches(lines, false, []string{selected}):
		return Proceed
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return NotModified
	default:
		return Failed
	}
}

// matches reports whether the value of a field, which may stand in several lines,
// is * or lists one of the entity tags. Where strong comparison is asked for, a
// weak one equals nothing (section 8.8.3.2). What is no list of entity tags matches
// nothing.
func matches(lines []string, strong bool, tags []string) bool {
	if isAny(lines) {
		return true
	}
	rest := strings.Join(lines, ",")
	found := false
	for {
		rest = strings.TrimLeft(rest, " \t,") // elements may be empty
		if rest == "" {
			return found
		}
		tag, weak := strings.CutPrefix(rest, "W/")
		n := opaque(tag)
		if n == 0 {
			return false
		}
		if !(weak && strong) && slices.Contains(tags, tag[:n]) {
			found = true
		}
		rest = strings.TrimLeft(tag[n:], " \t")
		if rest != "" && rest[0] != ',' {
			return false
		}
	}
}

// isAny reports whether the value of a field, which may stand in several lines, is *.
func isAny(lines []string) bool { return strings.Trim(strings.Join(lines, ","), " \t") == "*" }

// opaque returns the length of the opaque tag that a text begins with, 0 for none.
// Commas may stand in it.
func opaque(s string) int {
	if s == "" || s[0] != '"' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c <= ' ' || c == 0x7f:
			return 0
		}
	}
	return 0
}
