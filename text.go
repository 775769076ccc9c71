package petcat

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textRule is a rule for texts. The domain checks it, not the database, because databases
// differ: PostgreSQL, for example, cannot store U+0000.
type textRule struct {
	field    string // the member
	called   string // its name in messages; "": the member's
	maxRunes int    // in characters (Unicode code points)
	lines    bool   // tabs and line breaks are allowed
	blank    bool   // without a visible character
	// distinct is true if people distinguish texts by reading them: without invisible characters, and
	// without surrounding white space.
	distinct bool
}

// check returns an [Error] with [CodeInvalidField] for a text that breaks the rule.
func (r textRule) check(s string) error {
	// The length in bytes is an upper bound of the length in characters, so texts rarely need to be
	// counted.
	switch {
	case !utf8.ValidString(s):
		return r.fail("be valid UTF-8")
	case len(s) > r.maxRunes && utf8.RuneCountInString(s) > r.maxRunes:
		return r.fail("have at most %d characters", r.maxRunes)
	case s == "" && !r.blank:
		return r.fail("not be empty")
	case !r.blank && strings.IndexFunc(s, visible) < 0:
		return r.fail("contain something besides white space")
	}
	if r.distinct && strings.TrimSpace(s) != s {
		return r.fail("not begin or end with white space")
	}
	return r.checkCharacters(s)
}

// fail returns the error for a text that does not follow a rule.
func (r textRule) fail(rule string, args ...any) error {
	return Errorf(CodeInvalidField, "%s must %s", cmp.Or(r.called, r.field), fmt.Sprintf(rule, args...)).In(r.field)
}

// checkCharacters is the part of check that reads each character.
func (r textRule) checkCharacters(s string) error {
	rule := "not contain control characters (found U+%04X)"
	if r.lines {
		rule = "not contain control characters other than tab and line breaks (found U+%04X)"
	}
	for _, c := range s {
		if unicode.IsControl(c) && (!r.lines || c != '\t' && c != '\n' && c != '\r') {
			return r.fail(rule, c)
		}
		if r.distinct && invisible(c) {
			return r.fail("not contain invisible characters (found U+%04X)", c)
		}
	}
	return nil
}

// invisible reports whether a character does not show, not even as a space: two texts that differ only in
// it look the same. Besides format characters, these are the default ignorable ones, line separators, and
// the blank ones of Hangul and Braille.
func invisible(c rune) bool {
	const blankBraille = '\u2800'
	return c == blankBraille || unicode.In(c,
		unicode.Cf,
		unicode.Zl,
		unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, // with the fillers of Hangul
		unicode.Variation_Selector)
}

// visible reports whether a character is visible. White space, separators and format
// characters such as U+200B are not.
func visible(c rune) bool {
	return !unicode.IsSpace(c) && !unicode.In(c, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp)
}
