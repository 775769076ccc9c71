package limittest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// spreads say which of some nodes a request goes to, of the nth request.
var spreads = []struct {
	name string
	node func(n, nodes int) int
}{
	{"evenly", func(n, nodes int) int { return n % nodes }},
	{"all to one node", func(int, int) int { return 0 }},
	{"moving from node to node", func(n, nodes int) int { return n / 17 % nodes }},
	{"one in a hundred elsewhere", func(n, nodes int) int {
		if n%100 == 99 {
			return 1 + n/100%(nodes-1)
		}
		return 0
	}},
}

// RunNodes tests what several nodes admit together, each a limiter that start starts
// at the same place, however the requests are spread over them.
func RunNodes(t *testing.T, start New) {
	for _, nodes := range []int{2, 3, 6} {
		for _, s := range spreads {
			for _, quota := range []petcat.Quota{free, business, {PerMinute: 1, PerDay: 40}, {PerMinute: 4, PerDay: 1_000}, {PerMinute: 5_000, PerDay: 997}} {
				t.Run(fmt.Sprintf("%d nodes, %s, %d a minute and %d a day", nodes, s.name, quota.PerMinute, quota.PerDay), func(t *testing.T) {
					testNodes(t, start, nodes, s.node, quota)
				})
			}
		}
	}
}

// testNodes sends more than three minutes hold, and at the end more than the day does.
// A node is replaced before each minute.
func testNodes(t *testing.T, start New, nodes int, to func(n, nodes int) int, quota petcat.Quota) {
	r := newRig(t, start, petcat.BansOff)
	limiters := []ratelimit.Limiter{r.limiter}
	setup := Setup{Clock: r.clock, Days: r.process, Bans: petcat.BansOff, Place: &r.place}
	for range nodes - 1 {
		limiters = append(limiters, start(t, setup))
	}
	t.Cleanup(func() {
		for _, l := range limiters[1:] {
			_ = l.Close(t.Context())
		}
	})
	ofDay := int64(0)
	for minute := range 4 {
		want := min(quota.PerMinute, quota.PerDay-ofDay)
		var admitted, sent atomic.Int64
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				for {
					n := sent.Add(1) - 1
					if n >= want+want/10+100 {
						return
					}
					d, err := limiters[to(int(n), nodes)].Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 11, Quota: quota})
					if err != nil {
						t.Errorf("Spend: %v", err)
						return
					}
					if d.Verdict == ratelimit.Admitted {
						admitted.Add(1)
					}
				}
			})
		}
		senders.Wait()
		wantEqual(t, fmt.Sprintf("admitted in minute %d", minute+1), admitted.Load(), want)
		ofDay += admitted.Load()
		r.clock.Advance(time.Minute)
		last := nodes - 1
		if err := limiters[last].Close(t.Context()); err != nil {
			t.Fatalf("Close: %v", err)
		}
		limiters[last] = start(t, setup)
	}
}
