package main

import (
	"fmt"
	"time"

	"petcat/internal/config"
)

// parseExpiry reads when a key is to expire, as the user typed it at now: a duration (90d),
// the beginning of a day in UTC (2027-01-31), or an instant (RFC 3339). The result is in UTC
// and in whole seconds. It may be in the past: the domain refuses that.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil && t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 {
		return t.UTC().Truncate(time.Second), nil
	}
	lifetime, err := config.ParseDuration(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("must be a duration such as 90d, a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z (got %q)", s)
	}
	// Rounded up, so that what is printed is exact and a short lifetime is not over
	// before it begins.
	t := now.UTC().Add(lifetime)
	if whole := t.Truncate(time.Second); !whole.Equal(t) {
		t = whole.Add(time.Second)
	}
	return t, nil
}
