package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a duration: weeks, days (24 hours) and then the form of
// [time.ParseDuration], as in 90d, 2w, 1d12h or 30s. A negative duration is an error.
func ParseDuration(s string) (time.Duration, error) {
	var total time.Duration
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
		if err != nil || n > uint64((math.MaxInt64-total)/unit) {
			return 0, notADuration(s)
		}
		total += time.Duration(n) * unit
		if rest = rest[i+1:]; rest == "" {
			return total, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64-total {
		return 0, notADuration(s)
	}
	return total + d, nil
}

func notADuration(s string) error {
	return fmt.Errorf("must be a duration such as 30s, 24h or 90d (got %q)", s)
}
