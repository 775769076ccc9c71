package catalog

import (
	"slices"
	"strings"
)

// Matches reports whether one of the validators in If-None-Match is the list's
// (RFC 9110, section 13.1.2), in any encoding: who has one of them has this
// revision.
func (s *Snapshot) Matches(ifNoneMatch []string) bool {
	if len(ifNoneMatch) == 0 {
		return false
	}
	own := s.etags()
	for _, value := range ifNoneMatch {
		for candidate := range strings.SplitSeq(value, ",") {
			// The weak comparison is the right one here, so W/ does not matter.
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == "*" || slices.Contains(own[:], candidate) {
				return true
			}
		}
	}
	return false
}
