package server

import (
	"net/http"
	"testing"

	"petcat"
	"petcat/internal/httpapi"
	"petcat/internal/ratelimit"
)

// TestRefusalOf: what is stored of a refusal says how much of the quota was used, unless
// only the node's share was.
func TestRefusalOf(t *testing.T) {
	for _, c := range []struct {
		name   string
		part   ratelimit.Part
		reason string
		used   int64
	}{
		{"by the whole quota", ratelimit.Part{}, "minute", 60},
		{"by a share", ratelimit.PartOf(20), petcat.RefusedByShare, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			usage := ratelimit.Usage{Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}, Part: c.part, MinuteUsed: 60, DayUsed: 70}
			r := refusalOf(&httpapi.Record{Status: http.StatusTooManyRequests, Code: petcat.CodeRateLimitExceeded, Decision: usage.Answer(usage.Verdict(), 1)})
			if r.Reason() != c.reason || r.Minute != (petcat.Spent{Used: c.used, Limit: 60}) || r.Day != (petcat.Spent{Used: 70, Limit: 1_000}) || r.Until.Unix() != 60 {
				t.Errorf("%+v, by the reason %q; want %q, and %d used of the minute", r, r.Reason(), c.reason, c.used)
			}
		})
	}
}
