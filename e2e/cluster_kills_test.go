package e2e

import (
	"testing"
	"time"
)

// nodeKills is a cluster under load whose nodes are killed again and again, and started
// again at the same addresses, as by a supervisor.
type nodeKills struct {
	*outage           // its nodes are the addresses, whoever is there
	running []*server // the processes, in the same order
}

// TestClusterNodeKills: whatever was answered with 201 is there after a node was killed, and
// a create that is repeated with its idempotency key, on whichever node, is there once. The
// other nodes answer each create meanwhile.
func TestClusterNodeKills(t *testing.T) {
	t.Parallel()
	kills := often(t, 3, full)
	x := &nodeKills{outage: newOutage(t, 8)}
	x.running, x.nodes = x.nodes, nil
	for _, s := range x.running {
		x.nodes = append(x.nodes, s.impatient(10*time.Second))
	}
	for i := range kills {
		x.loses(x.random.IntN(len(x.running)))
		if v := x.ledger.verdict(); v != (verdict{}) {
			t.Fatalf("after %d kills: %s", i+1, v)
		}
	}
	acked, maybe := x.ledger.acknowledged()
	t.Logf("%d kills of nodes, %d creates acknowledged, %d of them carried out before they were repeated; %d not answered, %d refused by a node that started, %d of both never repeated: %s; all nodes worked again %s after a start at most",
		kills, acked, x.replayed.Load(), x.unanswered.Load(), x.unavailable.Load(), maybe, x.ledger.verdict(), percentile(x.back, 100).Round(time.Millisecond))
	if acked < 10*kills || x.unanswered.Load() < int64(kills) {
		t.Error("this was no load")
	}
	x.nodes = x.running
	x.mustStop()
}

// loses lets all clients create while one node is killed and comes back.
func (x *nodeKills) loses(node int) {
	x.t.Helper()
	x.doomed = x.nodes[node]
	stop := x.load()
	lapse(time.Duration(20+x.random.IntN(381)) * time.Millisecond)
	x.running[node].kill()
	x.doomed.client.CloseIdleConnections()
	lapse(time.Duration(x.random.IntN(300)) * time.Millisecond)
	x.running[node] = x.launchInPlaceOf(x.doomed)
	x.wantBack()
	stop()
	x.settle()
}
