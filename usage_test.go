package petcat_test

import (
	"testing"
	"time"

	"petcat"
)

func TestKeptSince(t *testing.T) {
	now := time.Date(2027, 3, 14, 12, 34, 56, 0, time.FixedZone("", 3600)) // 11:34:56 in UTC
	for step, want := range map[petcat.UsageStep]time.Time{
		petcat.UsageByHour: time.Date(2027, 2, 12, 0, 0, 0, 0, time.UTC),
		petcat.UsageByDay:  time.Date(2025, 3, 12, 0, 0, 0, 0, time.UTC),
	} {
		if got := step.KeptSince(now); got != want {
			t.Errorf("by the %s: since %s, want %s", step, got, want)
		}
	}
}
