package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/clock"
)

// TestSince: the answer of /readyz says since when each part is unhealthy.
func TestSince(t *testing.T) {
	t.Parallel()
	begun := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	manual := clock.NewManual(begun)
	n := &Node{clock: manual}
	for _, step := range []struct {
		now  condition
		want map[string]time.Time
	}{
		{condition{}, map[string]time.Time{}},
		{condition{problems: map[string]string{"store": "broken"}}, map[string]time.Time{"store": begun.Add(time.Second)}},
		{condition{problems: map[string]string{"store": "worse", "limiter": "broken"}}, map[string]time.Time{"store": begun.Add(time.Second), "limiter": begun.Add(2 * time.Second)}},
		{condition{problems: map[string]string{"limiter": "broken"}}, map[string]time.Time{"limiter": begun.Add(2 * time.Second)}},
		{condition{}, map[string]time.Time{}},
	} {
		if diff := cmp.Diff(step.want, n.noteSince(step.now)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", step.now, diff)
		}
		manual.Advance(time.Second)
	}
}
