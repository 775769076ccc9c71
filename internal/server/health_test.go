package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/pgtest"
	"petcat/internal/ratelimit"
)

// TestSince: the answer of /readyz says since when each part is unhealthy.
func TestSince(t *testing.T) {
	t.Parallel()
	begun := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	now := begun
	var last *condition
	for _, step := range []struct {
		now  *condition
		want map[string]time.Time
	}{
		{&condition{}, map[string]time.Time{}},
		{&condition{problems: map[string]string{"store": "broken"}}, map[string]time.Time{"store": begun.Add(time.Second)}},
		{&condition{problems: map[string]string{"store": "worse", "limiter": "broken"}}, map[string]time.Time{"store": begun.Add(time.Second), "limiter": begun.Add(2 * time.Second)}},
		{&condition{problems: map[string]string{"limiter": "broken"}}, map[string]time.Time{"limiter": begun.Add(2 * time.Second)}},
		{&condition{}, map[string]time.Time{}},
	} {
		last = step.now.after(last, now)
		if diff := cmp.Diff(step.want, last.since); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", step.now, diff)
		}
		now = now.Add(time.Second)
	}
}

// TestSilentCounters: while the database does not count, memory does and /readyz says so;
// once it counts again, the node notices by itself, without a request.
func TestSilentCounters(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	n := startTestNode(t, func(o *Options) { o.Settings.Database = petcat.NewSecret(database.Database(t)) })
	spend := func() (ratelimit.Decision, error) {
		return n.limiter.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 100, PerDay: 1_000}})
	}
	eventually := func(what string, holds func() bool) {
		t.Helper()
		for begin := time.Now(); !holds(); <-time.After(10 * time.Millisecond) {
			if time.Since(begin) > 30*time.Second {
				t.Fatalf("%s: not after 30 s", what)
			}
		}
	}
	eventually("the database decides, and tells its revision", func() bool {
		d, err := spend()
		return err == nil && d.Newest == must(n.store.Revision(t.Context()))
	})
	local := metric(t, n.metrics, "petcat_limiter_local_total") // of a slow start
	database.Suspend()
	d, err := spend()
	if err != nil || d.Newest != 0 {
		t.Errorf("while the database stands still: %+v, %v; want a decision of memory", d, err)
	}
	n.wantMetric(t, "petcat_limiter_silent", 1)
	n.wantMetric(t, "petcat_limiter_local_total", local+1)
	eventually("the node is degraded", func() bool {
		r, ready := n.readiness()
		return r.Status == "degraded" && ready
	})
	database.Resume()
	eventually("the node is ready again", func() bool {
		r, _ := n.readiness()
		return r.Status == "ready"
	})
}
