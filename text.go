package petcat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// textRule is what a text of the domain must obey. The domain checks it, not
// the database, so that every store holds the same: PostgreSQL, for one, cannot
// store U+0000 at all.
type textRule struct {
	field    string // as it is spelled in messages
	maxRunes int    // in characters: Unicode code points
	lines    bool   // tabs and line breaks are allowed
	blank    bool   // may have no visible character
}

func (r textRule) check(s string) error {
	if !utf8.ValidString(s) {
		return Errorf(CodeInvalidField, "%s must be valid UTF-8", r.field)
	}
	// The length in bytes bounds the length in characters from above, which
	// spares nearly every text the count.
	if len(s) > r.maxRunes && utf8.RuneCountInString(s) > r.maxRunes {
		return Errorf(CodeInvalidField, "%s must have at most %d characters", r.field, r.maxRunes)
	}
	if !r.blank && strings.IndexFunc(s, visible) < 0 {
		return Errorf(CodeInvalidField, "%s must contain something besides white space", r.field)
	}
	for _, c := range s {
		if !unicode.IsControl(c) || r.lines && (c == '\t' || c == '\n' || c == '\r') {
			continue
		}
		if r.lines {
			return Errorf(CodeInvalidField, "%s must not contain control characters other than tab and line breaks (found U+%04X)", r.field, c)
		}
		return Errorf(CodeInvalidField, "%s must not contain control characters (found U+%04X)", r.field, c)
	}
	return nil
}

// visible reports whether a character can be seen. White space, separators and format
// characters cannot, such as U+200B.
func visible(c rune) bool {
	return !unicode.IsSpace(c) && !unicode.In(c, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp)
}
