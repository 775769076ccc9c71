package httpapi

import (
	"strconv"

	"petcat"
	"petcat/internal/ratelimit"
)

// The values of the fields RateLimit and RateLimit-Policy, in the form of the
// IETF draft: a structured field's list, one item for each window.

// quotaPolicy returns the value of RateLimit-Policy for a quota, such as
// "minute";q=60;w=60, "day";q=1000;w=86400.
func quotaPolicy(q petcat.Quota) string {
	dst := appendPolicy(nil, petcat.Minute.String(), q.PerMinute, petcat.Minute)
	dst = append(dst, ", "...)
	return string(appendPolicy(dst, petcat.Day.String(), q.PerDay, petcat.Day))
}

// AppendRateLimit appends the value of RateLimit for a decision, such as
// "minute";r=59;t=42, "day";r=999;t=33961.
func AppendRateLimit(dst []byte, d ratelimit.Decision) []byte {
	dst = appendRateLimitItem(dst, petcat.Minute.String(), d.Minute, d.Now)
	dst = append(dst, ", "...)
	return appendRateLimitItem(dst, petcat.Day.String(), d.Day, d.Now)
}

// The windows of a [ratelimit.FailureBucket] and of a [ratelimit.LookBucket]. They are
// not called "minute": an account's minute is another quota, and clients keep them apart
// by their names.
const (
	addressWindow = "address"
	usageWindow   = "usage"
)

// appendMinuteRateLimit appends the value of RateLimit for an account of which
// no more than the minute is known; now is in nanoseconds.
func appendMinuteRateLimit(dst []byte, minute ratelimit.WindowState, now int64) []byte {
	return appendRateLimitItem(dst, petcat.Minute.String(), minute, now)
}

func appendPolicy(dst []byte, name string, quota int64, w petcat.Window) []byte {
	dst = appendName(dst, name)
	dst = append(dst, ";q="...)
	dst = strconv.AppendInt(dst, quota, 10)
	dst = append(dst, ";w="...)
	return strconv.AppendInt(dst, w.Seconds(), 10)
}

func appendRateLimitItem(dst []byte, name string, s ratelimit.WindowState, now int64) []byte {
	dst = appendName(dst, name)
	dst = append(dst, ";r="...)
	dst = strconv.AppendInt(dst, s.Remaining, 10)
	dst = append(dst, ";t="...)
	return strconv.AppendInt(dst, s.SecondsLeft(now), 10)
}

func appendName(dst []byte, name string) []byte {
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"')
}
