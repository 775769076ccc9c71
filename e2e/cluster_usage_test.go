package e2e

import (
	"testing"
	"time"
)

// TestClusterUsage: the history of three nodes is what the answers said, account by
// account, while nodes are stopped and started.
func TestClusterUsage(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	c := newCustomers(t, k.database, 20)
	k.start(3)
	for range 4 {
		c.send(often(t, 1_000, 25_000), k.nodes...)
		k.nodes[0].mustStop()
		k.forget(k.nodes[0])
		c.send(200, k.nodes...)
		k.startOne()
	}
	k.mustStop()
	c.wantExact()
}

// TestClusterUsageOfKilledNodes: what a killed node lacks is marked, and nothing of the
// others is missing.
func TestClusterUsageOfKilledNodes(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	c := newCustomers(t, k.database, 20)
	k.start(3)
	const kills = 3
	last := often(t, 400, 4_000) // sent right before a kill
	for range kills {
		lost := c.tally[0].admitted.Load() - usageOf(t, c.data, c.account(0)).Total.Requests // at the last kill
		c.send(often(t, 1_000, 30_000), k.nodes...)
		eventually(t, 10*time.Second, "the history has everything", func() bool {
			return usageOf(t, c.data, c.account(0)).Total.Requests == c.tally[0].admitted.Load()-lost
		})
		c.send(last, k.nodes...)
		sent := time.Now()
		k.nodes[0].kill()
		k.forget(k.nodes[0])
		eventually(t, 10*time.Second, "the others have written all", func() bool {
			since := time.Since(sent).Seconds()
			return k.all(func(s *server) bool { return s.metric("petcat_usage_unsaved_seconds") < since })
		})
		k.startOne()
	}
	if often(t, 0, 1) > 0 {
		// Nodes notice by the silence of a minute and a half.
		eventually(t, 4*time.Minute, "the kills are noticed", func() bool { return len(usageOf(t, c.data, "").Gaps) == kills })
	}
	k.mustStop()
	if missing := c.missing(); missing > int64(kills*last) {
		t.Errorf("%d requests are missing, of %d that may be", missing, kills*last)
	}
}
