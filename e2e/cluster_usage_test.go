package e2e

import (
	"sync"
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
// others is missing, which serve meanwhile.
func TestClusterUsageOfKilledNodes(t *testing.T) {
	t.Parallel()
	k := newCluster(t)
	c := newCustomers(t, k.database, 20)
	k.start(3)
	last := often(t, 400, 4_000) // sent right before a kill
	var all []killed
	for range 3 {
		lost := c.lost() // at the kills before
		c.send(often(t, 1_000, 30_000), k.nodes...)
		saved := c.saved(lost, k.nodes...)
		victim, others := k.nodes[0], k.nodes[1:]
		var load sync.WaitGroup
		load.Go(func() { c.send(last, others...) })
		all = append(all, c.kill(victim, saved, last))
		load.Wait()
		sent := time.Now()
		k.forget(victim)
		eventually(t, 10*time.Second, "the others have written all", func() bool {
			since := time.Since(sent).Seconds()
			return k.all(func(s *server) bool { return s.metric("petcat_usage_unsaved_seconds") < since })
		})
		k.startOne()
	}
	if often(t, 0, 1) == 0 { // what is missing is of those killed; the gaps need minutes
		if missing := c.missing(); missing > int64(len(all)*last) {
			t.Errorf("%d requests are missing, of %d that the killed nodes answered last", missing, len(all)*last)
		}
		k.mustStop()
		return
	}
	// Nodes look once a minute who was silent for a minute and a half.
	lapse(time.Until(all[len(all)-1].at.Add(90 * time.Second)))
	eventually(t, 90*time.Second, "the kills are noticed", func() bool {
		lapse(time.Second)
		return len(usageOf(t, c.data, "").Gaps) >= len(all)
	})
	k.mustStop()
	c.wantGaps(all)
}
