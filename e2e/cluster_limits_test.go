package e2e

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	rules "petcat"
)

// TestLimitsOfSeveralNodes: nodes on one database admit exactly the quota of each minute and
// day, however unevenly the requests come, and also when one of them dies or all restart.
func TestLimitsOfSeveralNodes(t *testing.T) {
	t.Parallel()
	const quota, senders = 100, 12
	place := database(t)
	type account struct {
		key
		spends *spent
	}
	var accounts []account
	for name, code := range map[string]rules.Code{"minute": rules.CodeRateLimitExceeded, "day": rules.CodeDailyQuotaExceeded, "evenly": rules.CodeDailyQuotaExceeded} {
		plan := limited("1000000", strconv.Itoa(quota))
		if code == rules.CodeRateLimitExceeded {
			plan = limited(strconv.Itoa(quota), "1000000")
		}
		accounts = append(accounts, account{newKey(t, place, name, plan...), newSpent(quota, code)})
	}
	send := func(n *node, a account) (refused bool) {
		answer, err := try(n.client, http.MethodGet, n.api+"/v1/categories", nil, by(a.Key))
		if err != nil || answer.StatusCode == http.StatusServiceUnavailable {
			a.spends.lose()
			return false
		}
		return !a.spends.add(t, answer)
	}
	nodes := serveAll(t, 3, place, "--bans", "off") // these callers do not wait
	for _, n := range nodes {
		for range 5 {
			send(n, accounts[0])
		}
	}
	for _, n := range nodes {
		n.stop()
	}

	nodes = serveAll(t, 4, place, "--bans", "off")
	var sent atomic.Int64
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		eventually(t, "many requests are sent", func() bool { return sent.Load() > 100 })
		nodes[3].kill()
	}()
	atOnce(senders, func(i int) {
		for n := i; ; n++ {
			refused := 0
			for _, a := range accounts {
				at := nodes[n%3]
				switch {
				case i == 0:
					at = nodes[3] // until it dies, and then he gives up
				case i%2 == 0:
					at = nodes[0]
				}
				sent.Add(1)
				if send(at, a) {
					refused++
				}
			}
			select {
			case <-killed:
				if i == 0 || refused == len(accounts) {
					return
				}
			default:
			}
		}
	})
	for _, a := range accounts {
		a.spends.wantExact(t)
	}
}
