package e2e

import (
	"strconv"
	"sync/atomic"
	"testing"

	rules "github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
)

// TestLimitsOfSeveralNodes: nodes on one database admit exactly the quota of each minute and day, for any
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
		{newKey(t, place, "minute", limited(strconv.Itoa(quota), "1000000")...), newSpent(quota, rules.CodeRateLimitExceeded)},
		{newKey(t, place, "day", limited("1000000", strconv.Itoa(quota))...), newSpent(quota, rules.CodeDailyQuotaExceeded)},
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

// TestLimitsDuringOutage: while PostgreSQL hangs, each node continues with its own counts. Three nodes
// admit at most four quotas in a minute, and no list of a known account fails. After the outage,
// limits are exact again.
func TestLimitsDuringOutage(t *testing.T) {
	t.Parallel()
	const quota, count = 50, 3
	server := pgtest.New(t)
	t.Cleanup(server.Resume)
	place := server.Database(t)
	k := newKey(t, place, "acme", limited(strconv.Itoa(quota), "1000000")...)
	later := newKey(t, place, "later", limited(strconv.Itoa(quota), "1000000")...)
	nodes := serveAll(t, count, place, "--bans", "off") // the clients do not wait
	for _, n := range nodes {
		n.knows(k)
	}
	during := newSpent(quota, rules.CodeRateLimitExceeded)
	server.Suspend()
	atOnce(count, func(i int) {
		for rejected := 0; rejected < 10; {
			if !during.add(t, nodes[i].list(k.Key)) {
				rejected++
			}
		}
	})
	for reset, allowed := range during.allowed {
		if allowed > (count+1)*quota {
			t.Errorf("minute until %d: %d requests on %d nodes without a database, quota %d", reset, allowed, count, quota)
		}
	}
	server.Resume()
	for _, n := range nodes {
		eventually(t, "the node is ready, and all parts are healthy", func() bool {
			return n.metric("petcat_limiter_silent") == 0
		})
	}
	local := 0
	for _, n := range nodes {
		local -= n.local()
	}
	after := newSpent(quota, rules.CodeRateLimitExceeded)
	atOnce(count, func(i int) {
		for rejected := 0; rejected < 10; {
			if !after.add(t, nodes[i].list(later.Key)) {
				rejected++
			}
		}
	})
	for _, n := range nodes {
		local += n.local()
	}
	after.wantExact(t, local)
}
