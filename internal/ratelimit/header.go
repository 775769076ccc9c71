package ratelimit

import (
	"strconv"

	"petcat"
)

// The values of the fields RateLimit and RateLimit-Policy, in the form of the
// IETF draft: a structured field's list, one item for each window.

// Policy returns the value of RateLimit-Policy for a quota, such as
// "minute";q=60;w=60, "day";q=1000;w=86400.
func Policy(q petcat.Quota) string { return string(AppendPolicy(nil, q)) }

// AppendPolicy appends what [Policy] returns.
func AppendPolicy(dst []byte, q petcat.Quota) []byte {
	dst = appendPolicy(dst, petcat.Minute, q.PerMinute)
	dst = append(dst, ", "...)
	return appendPolicy(dst, petcat.Day, q.PerDay)
}

// AppendRateLimit appends the value of RateLimit for a decision, such as
// "minute";r=59;t=42, "day";r=999;t=33961.
func AppendRateLimit(dst []byte, d Decision) []byte {
	dst = appendStanding(dst, petcat.Minute, d.Minute, d.Now)
	dst = append(dst, ", "...)
	return appendStanding(dst, petcat.Day, d.Day, d.Now)
}

// AddressPolicy returns the value of RateLimit-Policy for callers without a
// valid key.
func (b *FailureBucket) AddressPolicy() string {
	return string(appendPolicy(nil, petcat.Minute, b.limit))
}

// AppendAddressRateLimit appends the value of RateLimit for a caller without a
// valid key.
func AppendAddressRateLimit(dst []byte, d AddressDecision) []byte {
	return appendStanding(dst, petcat.Minute, d.Standing, d.Now)
}

func appendPolicy(dst []byte, w petcat.Window, quota int64) []byte {
	dst = appendName(dst, w)
	dst = append(dst, ";q="...)
	dst = strconv.AppendInt(dst, quota, 10)
	dst = append(dst, ";w="...)
	return strconv.AppendInt(dst, w.Seconds(), 10)
}

func appendStanding(dst []byte, w petcat.Window, s Standing, now int64) []byte {
	dst = appendName(dst, w)
	dst = append(dst, ";r="...)
	dst = strconv.AppendInt(dst, s.Remaining, 10)
	dst = append(dst, ";t="...)
	return strconv.AppendInt(dst, secondsUntil(now, s.Reset), 10)
}

func appendName(dst []byte, w petcat.Window) []byte {
	dst = append(dst, '"')
	dst = append(dst, w.String()...)
	return append(dst, '"')
}
