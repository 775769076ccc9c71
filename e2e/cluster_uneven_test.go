package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"petcat"
)

// mostOfTwo is what an account of 60 a minute is admitted at most in a minute in
// which the counters are lost or emptied, whichever nodes it asks, and how often.
const mostOfTwo = 2 * 60

// TestClusterUnevenLosses: who is served by other nodes after Redis was lost or
// emptied gets less than twice the quota of that minute, however unevenly the requests
// are spread.
func TestClusterUnevenLosses(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := newCluster(t)
	c.start(3, "--bans", "off") // these callers do not wait
	c.haveShares()
	for i := range often(t, 1, 10) {
		few := 3
		if i > 0 {
			nextMinute() // Redis was emptied in this one
			few = random.IntN(61)
		}
		awaitRoomInMinute(t, 12*time.Second)
		u := &uneven{cluster: c, tally: newTally(t), name: fmt.Sprint("uneven", i)}
		onOne, onTwo := u.spent("on one node", 0), u.spent("on two nodes", few)
		u.lost(onTwo, few)
		u.emptied(onOne, c.redis.Flush)
	}
	c.mustStop()
}

// uneven spends the minutes of accounts on one node after the other.
type uneven struct {
	*cluster
	*tally

	name string
}

// spend sends requests with a key to one node from eight clients, or to all.
func (u *uneven) spend(key string, requests int, nodes ...*server) {
	burst{nodes: nodes, keys: []string{key}, each: requests, clients: 8, spread: even}.send(u.ask)
}

// spent returns the key of a new account that has spent its minute: so many requests
// on the first node, and the rest on the second.
func (u *uneven) spent(what string, few int) (key string) {
	u.cluster.t.Helper()
	const limit = 60
	u.exactly(what, limit, func(begins func()) []int {
		u.bursts++
		key = u.newKey(fmt.Sprint(u.name, what, u.bursts), "free")
		begins()
		u.spend(key, few, u.nodes[0])
		u.spend(key, limit-few, u.nodes[1])
		return []int{u.admitted(key)}
	})
	return key
}

// emptied tries the nodes one after the other with a key whose minute is spent. The
// counters are emptied each time before.
func (u *uneven) emptied(key string, empty func()) {
	u.cluster.t.Helper()
	for _, s := range []*server{u.nodes[2], u.nodes[0], u.nodes[1]} {
		empty()
		u.spend(key, 100, s)
	}
	u.check("emptied before each node was asked", key)
}

// lost tries all nodes with a key whose minute is spent, when Redis was killed, when it
// is there again, and when all is well.
func (u *uneven) lost(key string, few int) {
	u.cluster.t.Helper()
	u.redis.Kill()
	u.spend(key, 150, u.nodes...)
	u.redis.Restart()
	u.spend(key, 150, u.nodes...)
	u.awaitWell(10 * time.Second)
	u.spend(key, 150, u.nodes...)
	u.check(fmt.Sprintf("killed after %d requests on one node and the rest on another", few), key)
}

func (u *uneven) check(what, key string) {
	u.cluster.t.Helper()
	u.eachMinute(key, func(end int64, w window) {
		u.cluster.t.Logf("the counters were %s: %d of 60 were admitted in the minute until %d", what, w.admitted, end)
		if w.admitted > mostOfTwo {
			u.cluster.t.Errorf("the counters were %s: %d were admitted in the minute until %d; want %d at most", what, w.admitted, end, mostOfTwo)
		}
	})
}

// TestClusterShareBansNobody: without Redis a client on one node that stays below its
// plan is admitted the node's share, and refused the rest with a 429 that says so. It is
// not banned for it, although it goes on when the grace is over.
func TestClusterShareBansNobody(t *testing.T) {
	t.Parallel()
	const limit, pause = 60, 50 * time.Millisecond
	threshold := int(petcat.BanThreshold(petcat.Quota{PerMinute: limit}))
	c := newCluster(t)
	c.start(3)
	c.haveShares()
	s := c.nodes[0]
	for i := range often(t, 1, 5) {
		if i > 0 {
			nextMinute() // Redis was emptied in this one
		}
		account := fmt.Sprint("steady", i)
		key := c.newKey(account, "free")
		awaitRoomInMinute(t, 12*time.Second)
		// The node knows of two: its share is a third of what is left.
		wantStatus(t, c.nodes[1].list(key), http.StatusOK)
		wantStatus(t, s.list(key), http.StatusOK)
		c.redis.Kill()
		admitted, refused := 2, 0
		var last *answer // that was refused
		for range limit - admitted {
			lapse(pause)
			a := s.list(key)
			switch {
			case a.StatusCode == http.StatusOK:
				admitted++
			case a.beyondShare():
				last = a
				if refused++; refused == 1 {
					lapse(petcat.EarlyRetryGrace) // those that follow would be early retries
				}
			default:
				t.Fatalf("after %d were admitted and %d refused: %d %s", admitted, refused, a.StatusCode, a.body)
			}
		}
		t.Logf("without Redis one of three nodes admitted %d of %d, and refused %d", admitted, limit, refused)
		if share := admitted - 2; share < (limit-2)/3 || share > (limit-2)/3+1 {
			t.Errorf("without Redis one of three nodes admitted %d; its share of what is left is %d", share, (limit-2)/3)
		}
		if refused-1 <= threshold {
			t.Fatalf("%d were refused after the grace, and a ban needs more than %d: this shows nothing", refused-1, threshold)
		}
		c.redis.Restart()
		c.awaitWell(10 * time.Second)
		if r, _ := s.refusal(account, last); r.Reason != "share" || r.Minute.Limit != limit {
			t.Errorf("without Redis a refusal by the node's share is shown as %+v", r)
		}
		if text := petcatDoes(t, c.database, "account", "refusals", account); !strings.Contains(text, "share of 60") || strings.Contains(text, "60 of 60") {
			t.Errorf("without Redis the refusals by the node's share are shown as\n%s", text)
		}
	}
	if bans := c.bans(); len(bans) > 0 {
		t.Errorf("bans: %v", bans)
	}
	c.mustStop()
}
