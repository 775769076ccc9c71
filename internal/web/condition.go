package web

import (
	"net/http"
	"slices"
	"strings"
)

// Outcome is the result of evaluating the conditions of a request (RFC 9110, section 13).
type Outcome uint8

// The outcomes.
const (
	Proceed     Outcome = iota
	NotModified         // 304
	Failed              // 412
)

// Conditional reports whether the outcome of a request depends on an entity tag. With only
// If-Match: *, it does not.
func Conditional(r *http.Request) bool {
	lines := r.Header["If-Match"]
	return len(r.Header["If-None-Match"]) > 0 || len(lines) > 0 && !isAny(lines)
}

// Evaluate evaluates If-Match, then If-None-Match (section 13.2.2). selected is the entity tag of the
// representation that a GET of this client would return, current has the entity tags of all
// representations. They are strong, and in quotes.
//
// If-Unmodified-Since and If-Modified-Since are ignored, as required for resources without
// Last-Modified.
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

// matches reports whether a header, which may have several lines, is * or lists one of the entity
// tags. In a strong comparison, weak tags never match (section 8.8.3.2). Elements may be empty, and
// tags may contain commas. An invalid header never matches.
func matches(lines []string, strong bool, tags []string) bool {
	if isAny(lines) || len(lines) == 1 && slices.Contains(tags, lines[0]) {
		return true
	}
	found := false
	list := strings.TrimLeft(strings.Join(lines, ","), " \t,")
	for list != "" {
		tag, rest, valid := cutTag(list)
		if !valid {
			return false
		}
		if slices.Contains(tags, tag.quoted) && !(strong && tag.weak) {
			found = true
		}
		list = strings.TrimLeft(rest, " \t,")
	}
	return found
}

// entityTag is an entity tag (section 8.8.3).
type entityTag struct {
	weak   bool
	quoted string // with its quotes
}

// cutTag returns the first entity tag of a list that is not empty, and the rest after it: empty, or a
// comma and more.
func cutTag(list string) (tag entityTag, rest string, valid bool) {
	quoted, weak := strings.CutPrefix(list, "W/")
	text, opened := strings.CutPrefix(quoted, `"`)
	text, rest, closed := strings.Cut(text, `"`)
	if !opened || !closed || strings.ContainsAny(text, " \t") { // net/http rejects other control characters
		return entityTag{}, "", false
	}
	rest = strings.TrimLeft(rest, " \t")
	if rest != "" && rest[0] != ',' {
		return entityTag{}, "", false
	}
	return entityTag{weak: weak, quoted: quoted[:len(text)+2]}, rest, true
}

// isAny reports whether a header, which may have several lines, is *.
func isAny(lines []string) bool { return strings.Trim(strings.Join(lines, ","), " \t") == "*" }
