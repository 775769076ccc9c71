package backup

import (
	"cmp"
	"fmt"
	"strings"
)

// order follows rows and knows when one does not come behind the one before it.
type order struct {
	kind Kind
	last [2]any // the key of the last row of the kind
}

// next returns what is wrong with the place of a row, "" when nothing is.
func (o *order) next(k Kind, values []any) (fault string) {
	var key [2]any
	copy(key[:], values[:k.keyColumns()])
	if k == o.kind && compareKeys(o.last, key) >= 0 {
		fault = fmt.Sprintf("the %s %s and %s are out of order, or one is there twice", k, keyText(o.last), keyText(key))
	}
	o.kind, o.last = k, key
	return fault
}

// keyColumns is how many columns, from the first one on, identify a row.
func (k Kind) keyColumns() int {
	switch k {
	case IdempotencyKeys, DayCounts, UsageHours, UsageDays:
		return 2
	default:
		return 1
	}
}

func compareKeys(a, b [2]any) int {
	for i := range a {
		var order int
		switch x := a[i].(type) {
		case int64:
			order = cmp.Compare(x, b[i].(int64))
		case string:
			order = cmp.Compare(x, b[i].(string))
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// keyText is a row's key for people, who can do nothing with a long one.
func keyText(key [2]any) string {
	const longest = 60
	var parts []string
	for _, part := range key {
		if part != nil {
			parts = append(parts, fmt.Sprintf("%.*s", longest, fmt.Sprint(part)))
		}
	}
	return strings.Join(parts, "/")
}
