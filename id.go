package petcat

import "strconv"

// ParseID parses the digits of an id. Each id has one form: no sign, no leading zero. isID is false
// for any other text.
func ParseID(digits string) (id int64, isID bool) {
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || id < 1 || strconv.FormatInt(id, 10) != digits {
		return 0, false
	}
	return id, true
}
