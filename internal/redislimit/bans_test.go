package redislimit_test

import (
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// spent is a key whose account's day is over after one request.
var spent = ratelimit.Charge{Account: 7, Key: 77, Quota: petcat.Quota{PerMinute: 60, PerDay: 1}}

func (n *nodes) spend(node int, c ratelimit.Charge, want ratelimit.Verdict) ratelimit.Decision {
	n.Helper()
	d, err := n.all[node].Spend(n.Context(), c)
	if err != nil || d.Verdict != want {
		n.Fatalf("Spend on node %d = %+v, %v; want verdict %d", node+1, d, err, want)
	}
	return d
}

// offend brings the key to the threshold of a ban, on all nodes in turn.
func (n *nodes) offend() {
	n.Helper()
	n.spend(0, spent, ratelimit.Admitted)
	n.spend(0, spent, ratelimit.DaySpent)
	n.clock.Advance(petcat.EarlyRetryGrace + time.Nanosecond)
	for i := range 30 {
		n.spend(i%len(n.all), spent, ratelimit.DaySpent)
	}
}

func TestBansHoldOnAllNodes(t *testing.T) {
	n := startNodes(t, 3, 10*time.Second)
	n.offend()

	// Many requests pass the threshold at once: one ban, told of once.
	var senders sync.WaitGroup
	for i := range 60 {
		senders.Go(func() {
			d, err := n.all[i%3].Spend(t.Context(), spent)
			if err != nil || d.Verdict != ratelimit.Banned && d.Verdict != ratelimit.DaySpent {
				t.Errorf("Spend = %+v, %v", d, err)
			}
		})
	}
	senders.Wait()
	if got := n.bans.Load(); got != 1 {
		t.Errorf("%d bans were told of, want 1", got)
	}
	// With the day spent, its end is told. On another plan, it is the ban's.
	banned := spent
	banned.Quota = free
	end := n.spend(0, banned, ratelimit.Banned).Headline.Reset
	for node := range 3 {
		if got := n.spend(node, banned, ratelimit.Banned).Headline.Reset; got != end {
			t.Errorf("node %d ends the ban at %d, want %d", node+1, got, end)
		}
	}

	// A server that was emptied learns it from the nodes, on the first request.
	n.server.Flush()
	for node := range 3 {
		n.spend(node, spent, ratelimit.Banned)
	}

	// Without a server each node knows it, too.
	n.server.Kill()
	eventually(t, "all nodes alone", func() bool {
		for node := range 3 {
			if n.spend(node, spent, ratelimit.Banned); n.all[node].Mode() == "together" {
				return false
			}
		}
		return true
	})
	n.server.Restart()
	n.wait("together")
	n.spend(1, spent, ratelimit.Banned)
}

// TestAppliedBans are news of the database: they hold on the node that has heard
// of them, and through the server on the others, which will hear of them soon.
func TestAppliedBans(t *testing.T) {
	n := startNodes(t, 2, 10*time.Second)
	key := ratelimit.Charge{Account: 1, Key: 11, Quota: free}
	n.spend(0, key, ratelimit.Admitted)
	ban := petcat.Ban{Key: 11, Account: 1, Level: 2, StartedAt: start, EndsAt: start.Add(5 * time.Minute)}
	n.all[0].ApplyBan(ban)
	n.spend(1, key, ratelimit.Banned)

	lifted := ban
	lifted.LiftedAt, lifted.LiftedBy = start.Add(time.Second), "cli:ann"
	n.all[1].ApplyBan(lifted)
	n.spend(1, key, ratelimit.Admitted)
	n.all[0].ApplyBan(lifted)
	n.spend(0, key, ratelimit.Admitted)

	// A node that is cut off holds it by itself, and tells the server later.
	n.server.Kill()
	eventually(t, "alone", func() bool {
		_, err := n.all[0].Spend(t.Context(), key)
		return err == nil && n.all[0].Mode() == "alone"
	})
	again := petcat.Ban{Key: 11, Account: 1, Level: 3, StartedAt: start.Add(2 * time.Minute), EndsAt: start.Add(17 * time.Minute)}
	n.all[0].ApplyBan(again)
	n.spend(0, key, ratelimit.Banned)
	n.server.Restart()
	n.wait("together")
	eventually(t, "the other node hears of it", func() bool {
		d, err := n.all[1].Spend(t.Context(), key)
		return err == nil && d.Verdict == ratelimit.Banned
	})
}
