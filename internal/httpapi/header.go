package httpapi

import (
	"strconv"

	"petcat"
	"petcat/internal/ratelimit"
)

// This file makes the values of the headers RateLimit and RateLimit-Policy in the form of
// the IETF draft: a list of a structured field, with one item for each window.

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

// The names of the windows of a failed credentials and of free requests.
// They are not "minute": that is the name of an account's minute quota, and clients tell
// quotas apart by their names.
const (
	addressWindow = "address"
	usageWindow   = "usage"
)

// appendMinuteRateLimit appends the value of RateLimit for an account whose day count is
// unknown. now is in Unix nanoseconds.
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
