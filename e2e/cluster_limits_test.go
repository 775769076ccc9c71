package e2e

import (
	"fmt"
	"sync/atomic"
	"testing"

	rules "github.com/petcat-api/petcat"
)

// TestLimitsOfSeveralNodes: nodes on one database allow exactly the quota of each minute and day, for any
// distribution of requests, and also if a node dies or all nodes restart.
func TestLimitsOfSeveralNodes(t *testing.T) {
	t.Parallel()
	const quota, senders = 100, 12
	place := database(t)
	type account struct {
		key
		spends *spent
	}
	accounts := []account{
		{newKey(t, place, "minute", limited(fmt.Sprint(quota), "1000000")...), newSpent(quota, rules.CodeRateLimitExceeded)},
		{newKey(t, place, "day", limited("1000000", fmt.Sprint(quota))...), newSpent(quota, rules.CodeDailyQuotaExceeded)},
	}
	send := func(n *node, a account) (rejected bool) {
		return !a.spends.add(t, n.list(a.Key))
	}
	var sent, local atomic.Int64
	nodes := serveAll(t, 3, place, "--bans", "off") // the clients do not wait
	for _, n := range nodes {
		for range 5 {
			for _, a := range accounts {
				send(n, a)
			}
		}
		local.Add(int64(n.local()))
		n.stop()
	}

	nodes = serveAll(t, 4, place, "--bans", "off")
	killed := make(chan struct{})
	atOnce(senders, func(i int) {
		for n := i; ; n++ {
			at := nodes[n%3]
			switch {
			case i == 0:
				at = nodes[3] // until it dies
			case i%2 == 0:
				at = nodes[0]
			}
			rejected := 0
			for _, a := range accounts {
				sent.Add(1)
				if send(at, a) {
					rejected++
				}
			}
			if i == 0 && sent.Load() > 100 { // the only sender to this node, so that its count is complete
				local.Add(int64(at.local()))
				at.kill()
				close(killed)
				return
			}
			select {
			case <-killed:
				if rejected == len(accounts) {
					return
				}
			default:
			}
		}
	})
	for _, n := range nodes[:3] {
		local.Add(int64(n.local()))
	}
	for _, a := range accounts {
		a.spends.wantExact(t, int(local.Load()))
	}
}
