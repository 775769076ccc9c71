package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseSpan reads a length of time: what [time.ParseDuration] reads, and days
// (24 hours) and weeks before it, as in 90d, 2w, 1d12h or 30s. It is never
// negative.
func parseSpan(s string) (time.Duration, error) {
	var span time.Duration
	rest := s
	for {
		i := strings.IndexAny(rest, "dw")
		if i < 0 {
			break
		}
		unit := 24 * time.Hour
		if rest[i] == 'w' {
			unit = 7 * 24 * time.Hour
		}
		// Unsigned, so that neither a sign nor a fraction passes.
		n, err := strconv.ParseUint(rest[:i], 10, 63)
		if err != nil || n > uint64((math.MaxInt64-span)/unit) {
			return 0, notASpan(s)
		}
		span += time.Duration(n) * unit
		if rest = rest[i+1:]; rest == "" {
			return span, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64-span {
		return 0, notASpan(s)
	}
	return span + d, nil
}

func notASpan(s string) error {
	return fmt.Errorf("must be a length of time such as 30s, 24h or 90d (got %q)", s)
}

// parseExpiry reads when a key is to expire, as somebody typed it at now: after
// a length of time (90d), on a day (2027-01-31, from its beginning in UTC), or
// at an instant (RFC 3339). The result is in UTC and in whole seconds; it may
// lie in the past, which is for the domain to refuse.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil && t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 {
		return t.UTC().Truncate(time.Second), nil
	}
	span, err := parseSpan(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("must be a length of time such as 90d, a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z (got %q)", s)
	}
	// Rounded up, so that what is printed is exact and a short span is not over
	// before it begins.
	t := now.UTC().Add(span)
	if whole := t.Truncate(time.Second); !whole.Equal(t) {
		t = whole.Add(time.Second)
	}
	return t, nil
}
