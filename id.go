package petcat

import (
	"strconv"
	"strings"
)

// ParseNumber parses a number that is not negative. Each has one form, in decimal: no sign, no leading
// zero, no separators. isNumber is false for any other text.
func ParseNumber(digits string) (n int64, isNumber bool) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != digits {
		return 0, false
	}
	return n, true
}

// ParseID parses the digits of an id, a [ParseNumber] from 1. isID is false for any other text.
func ParseID(digits string) (id int64, isID bool) {
	id, isNumber := ParseNumber(digits)
	return id, isNumber && id > 0
}

// cutID parses an id with a prefix such as key_, in any case.
func cutID(prefix, s string) (id int64, isID bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return 0, false
	}
	return ParseID(s[len(prefix):])
}
