package redislimit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
	"petcat/internal/redislimit"
	"petcat/internal/redistest"
)

var (
	start = time.Date(2026, 3, 10, 10, 0, 18, 0, time.UTC)
	free  = petcat.Quota{PerMinute: 60, PerDay: 1_000}
)

// nodes are several limiters that share a server, a day store and a clock, which
// stands still until the test moves it.
type nodes struct {
	testing.TB
	server *redistest.Server
	url    string // instead of the proxy's
	proxy  *redistest.Proxy
	clock  *clock.Manual
	days   *limittest.Days
	stores []*limittest.Process // each node's way to days
	all    []*redislimit.Limiter
	bans   atomic.Int64

	mu    sync.Mutex
	waits []time.Duration // how long each request took; guarded by mu
	total map[int]int64   // admitted since the start, by account; guarded by mu
}

// tolerant is how long a command may take in tests that count exactly while the
// server is there: a busy machine stalls for longer than a command may take.
const tolerant = 1500 * time.Millisecond

// startNodes starts so many nodes behind a proxy. A command may take timeout; 0
// is as usual.
func startNodes(t testing.TB, count int, timeout time.Duration, settings ...string) *nodes {
	t.Helper()
	n := &nodes{TB: t, server: redistest.Start(t, settings...), clock: clock.NewManual(start), days: limittest.NewDays(), total: make(map[int]int64)}
	n.proxy = redistest.NewProxy(t, n.server.Address())
	for range count {
		n.add(count, timeout)
	}
	return n
}

func (n *nodes) add(count int, timeout time.Duration) {
	n.Helper()
	url := n.url
	if url == "" {
		url = n.proxy.URL()
	}
	store := n.days.Process()
	n.stores = append(n.stores, store)
	l, err := redislimit.StartVirtual(n.Context(), redislimit.Options{
		URL: petcat.NewSecret(url), Clock: n.clock, Days: store,
		LiveNodes: func() int { return count },
		Banned:    func(petcat.Ban) { n.bans.Add(1) },
	}, timeout)
	if err != nil {
		n.Fatal(err)
	}
	n.all = append(n.all, l)
	n.Cleanup(func() { _ = l.Close(context.Background()) })
}

// load is requests for some accounts, sent by many at once.
type load struct {
	accounts int
	requests int // for each account
	quota    petcat.Quota
	skew     bool // nine of ten requests go to the first node
	single   bool // all of them do
	// rest is how long a sender rests at most after each request.
	rest time.Duration
}

// send sends a load and returns how many requests of each account were admitted.
func (n *nodes) send(o load) []int64 {
	n.Helper()
	admitted := make([]atomic.Int64, o.accounts)
	var next atomic.Int64
	var senders sync.WaitGroup
	for range 32 {
		senders.Go(func() {
			var waits []time.Duration
			for {
				i := int(next.Add(1)) - 1
				if i >= o.accounts*o.requests {
					break
				}
				account := i % o.accounts
				node := i / o.accounts % len(n.all)
				if o.single || o.skew && i/o.accounts%10 != 0 {
					node = 0
				}
				began := time.Now()
				d, err := n.all[node].Spend(n.Context(), ratelimit.Charge{
					Account: petcat.AccountID(account + 1), Key: petcat.KeyID(account + 1), Quota: o.quota,
				})
				waits = append(waits, time.Since(began))
				if err != nil {
					n.Errorf("Spend: %v", err)
					return
				}
				if d.Headline.Reset <= d.Now/1e9 || d.Headline.Remaining < 0 {
					n.Errorf("an answer with impossible headers: %+v", d)
				}
				if d.Verdict == ratelimit.Admitted {
					admitted[account].Add(1)
				}
				if o.rest > 0 {
					time.Sleep(rand.N(o.rest))
				}
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			n.waits = append(n.waits, waits...)
		})
	}
	senders.Wait()
	counts := make([]int64, o.accounts)
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range counts {
		counts[i] = admitted[i].Load()
		n.total[i] += counts[i]
	}
	return counts
}

// slowest returns the 99th percentile of how long requests took since the last
// call.
func (n *nodes) slowest() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	waits := n.waits
	n.waits = nil
	slices.Sort(waits)
	if len(waits) == 0 {
		return 0
	}
	return waits[len(waits)*99/100]
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

func (n *nodes) wait(mode string) {
	n.Helper()
	eventually(n, "all nodes "+mode, func() bool {
		return !slices.ContainsFunc(n.all, func(l *redislimit.Limiter) bool {
			return l.Mode() != mode || mode == "together" && !redislimit.Trusts(l)
		})
	})
}

// TestNodesAdmitExactlyTheLimit: however many nodes, however the load is spread.
func TestNodesAdmitExactlyTheLimit(t *testing.T) {
	for _, count := range []int{1, 3, 5} {
		for _, skew := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d nodes, skew %v", count, skew), func(t *testing.T) {
				n := startNodes(t, count, 10*time.Second)
				for minute := range 3 {
					for i, got := range n.send(load{accounts: 20, requests: 200, quota: free, skew: skew}) {
						if got != 60 {
							t.Errorf("minute %d: account %d was admitted %d times, want 60", minute, i+1, got)
						}
					}
					n.clock.Advance(time.Minute)
				}
			})
		}
	}
}

// TestNodesShareTheDay: blocks that wait to be spent take nothing from the day.
func TestNodesShareTheDay(t *testing.T) {
	for _, count := range []int{1, 3, 5} {
		t.Run(fmt.Sprintf("%d nodes", count), func(t *testing.T) {
			n := startNodes(t, count, 10*time.Second)
			quota := petcat.Quota{PerMinute: 100_000, PerDay: 2_000}
			for i, got := range n.send(load{accounts: 4, requests: 2_500, quota: quota, skew: count == 3}) {
				if got != 2_000 {
					t.Errorf("account %d was admitted %d times, want 2000", i+1, got)
				}
			}
		})
	}
}
