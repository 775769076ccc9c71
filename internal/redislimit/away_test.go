package redislimit_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
	"petcat/internal/redislimit"
	"petcat/internal/redistest"
)

// away is a way to lose the server, and to get it back.
type away struct {
	name  string
	lose  func(*nodes)
	heal  func(*nodes)
	alone bool // the nodes notice, and decide alone
}

func aways() []away {
	return []away{
		{"killed", func(n *nodes) { n.server.Kill() }, func(n *nodes) { n.server.Restart() }, true},
		{"hung", func(n *nodes) { n.server.Hang() }, func(n *nodes) { n.server.Resume() }, true},
		{"cut off", func(n *nodes) { n.proxy.Cut() }, func(n *nodes) { n.proxy.Heal() }, true},
		{"slow", func(n *nodes) { n.proxy.Delay(2 * tolerant) }, func(n *nodes) { n.proxy.Heal() }, true},
		{"refused", func(n *nodes) { n.proxy.Reset() }, func(n *nodes) { n.proxy.Heal() }, true},
		{"a replica", func(n *nodes) { n.server.MustDo("REPLICAOF", "127.0.0.1", "1") }, func(n *nodes) { n.server.MustDo("REPLICAOF", "NO", "ONE") }, true},
		{"out of memory", func(n *nodes) { n.server.MustDo("CONFIG", "SET", "maxmemory", "1") }, func(n *nodes) { n.server.MustDo("CONFIG", "SET", "maxmemory", "0") }, true},
		{"emptied", func(n *nodes) { n.server.Flush() }, func(*nodes) {}, false},
		{"reset once", func(n *nodes) { n.proxy.Drop() }, func(*nodes) {}, false},
		{"restarted empty", func(n *nodes) { n.server.Restart() }, func(*nodes) {}, false},
		{"without its scripts", func(n *nodes) { n.server.MustDo("SCRIPT", "FLUSH") }, func(*nodes) {}, false},
	}
}

// awayAccounts are more than there are senders: an account has one request
// under way, so that what its nodes know of it is as fresh as it can be.
const awayAccounts = 40

// TestServerAway loses the server in the middle of a minute and gets it back in
// the middle of another.
func TestServerAway(t *testing.T) {
	t.Parallel()
	for _, a := range aways() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			n := startNodes(t, 3, tolerant)
			first := n.send(load{accounts: awayAccounts, requests: 30, quota: free})
			a.lose(n)
			rest := n.send(load{accounts: awayAccounts, requests: 100, quota: free})
			for i := range first {
				first[i] += rest[i]
			}
			n.check("in the minute of the switch", first, 30, 63)
			if a.alone {
				n.wait("alone")
				n.clock.Advance(time.Minute)
				n.check("in a minute without the server", n.send(load{accounts: awayAccounts, requests: 100, quota: free}), 60, 60)
				n.clock.Advance(time.Minute)
				half := n.send(load{accounts: awayAccounts, requests: 15, quota: free})
				a.heal(n)
				n.wait("together")
				rest := n.send(load{accounts: awayAccounts, requests: 100, quota: free})
				for i := range half {
					half[i] += rest[i]
				}
				n.check("in the minute of the return", half, 57, 63)
			}
			n.wait("together")
			n.clock.Advance(time.Minute)
			n.check("in the minute after", n.send(load{accounts: awayAccounts, requests: 100, quota: free}), 60, 60)
			n.drainDays()
		})
	}
}

// TestServerStalls has the server hang for a moment while accounts spend their
// minute: whether the nodes notice, and which of them do, it is spent once.
func TestServerStalls(t *testing.T) {
	for _, tc := range []struct {
		nodes int
		skew  bool
	}{{3, true}, {5, false}} {
		t.Run(fmt.Sprintf("%d nodes, skew %v", tc.nodes, tc.skew), func(t *testing.T) {
			n := startNodes(t, tc.nodes, 0)
			for stall := range 12 {
				// The minute is spent in some 20 ms; nodes doubt a server that hangs
				// after 50 ms, and count alone for a while after 150.
				after := time.Duration(stall%6+1) * 3 * time.Millisecond
				hang := time.Duration(60+15*stall) * time.Millisecond
				var stalled sync.WaitGroup
				stalled.Go(func() {
					<-time.After(after)
					n.server.Hang()
					<-time.After(hang)
					n.server.Resume()
				})
				admitted := n.send(load{accounts: 3, requests: 100, quota: free, skew: tc.skew, rest: 5 * time.Millisecond})
				stalled.Wait()
				n.check(fmt.Sprintf("when the server hung for %s after %s", hang, after), admitted, 1, 63)
				n.wait("together")
				n.clock.Advance(time.Minute)
			}
			n.check("in the minute after", n.send(load{accounts: 3, requests: 100, quota: free, skew: tc.skew}), 60, 60)
		})
	}
}

// TestNobodyIsHeldUp: however the server is lost, a request waits for it for as
// long as a command may take, and only at first.
func TestNobodyIsHeldUp(t *testing.T) {
	for _, a := range aways() {
		t.Run(a.name, func(t *testing.T) {
			n := startNodes(t, 3, unhurried)
			n.send(load{accounts: awayAccounts, requests: 30, quota: free})
			calm := n.slowest()
			a.lose(n)
			n.send(load{accounts: awayAccounts, requests: 100, quota: free})
			lost := n.slowest()
			n.Logf("99 in 100 requests took up to %s; %s when the server was lost", calm, lost)
			if lost > calm+unhurried+busy {
				t.Errorf("99 in 100 requests took up to %s when the server was lost, %s before", lost, calm)
			}
			if a.alone {
				n.wait("alone")
				n.slowest()
				n.send(load{accounts: awayAccounts, requests: 100, quota: free})
				if later := n.slowest(); later > busy {
					t.Errorf("99 in 100 requests took up to %s without the server", later)
				}
			}
		})
	}
}

// TestNobodyWaitsForAGrant: who waits for a block of the day, which the server is to
// be told of first, does not wait for a server that hangs any longer than others.
func TestNobodyWaitsForAGrant(t *testing.T) {
	n := startNodes(t, 1, redislimit.BatchTimeout/4)
	n.breakStores(limittest.Faults{Hang: true})
	send := func(account int64) <-chan error {
		answer := make(chan error, 1)
		go func() {
			d, err := n.all[0].Spend(n.Context(), chargeOf(account))
			if err == nil && d.Verdict != ratelimit.Admitted {
				err = fmt.Errorf("verdict %v", d.Verdict)
			}
			answer <- err
		}()
		return answer
	}
	first, second := send(1), send(2)
	eventually(n, "two requests wait for blocks", func() bool { return redislimit.WaitForBlocks(n.all[0]) == 2 })
	n.server.Hang()
	defer n.server.Resume()
	began := time.Now()
	n.breakStores(limittest.Faults{}) // a block is leased, and granted to a server that hangs
	for _, answer := range []<-chan error{first, second} {
		select {
		case err := <-answer:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(redislimit.BatchTimeout / 2):
			t.Error("who waits for a block waits for a server that hangs")
		}
	}
	t.Logf("they waited for %s", time.Since(began))
}

// unhurried is how long a command may take in tests of how long requests wait: ten
// times what is usual, so that a busy machine's stalls weigh a tenth.
const unhurried = 500 * time.Millisecond

// busy is what such a machine adds to a wait.
const busy = unhurried / 5

func (n *nodes) check(when string, admitted []int64, least, most int64) {
	n.Helper()
	for i, got := range admitted {
		if got < least || got > most {
			n.Errorf("%s account %d was admitted %d times, want %d to %d", when, i+1, got, least, most)
		}
	}
}

// drainDays spends the rest of the accounts' days. Not one request more is to be
// had, and at most a hundredth less for each time that the server lost what it
// held.
func (n *nodes) drainDays() {
	n.Helper()
	for range 20 {
		n.clock.Advance(time.Minute)
		n.send(load{accounts: awayAccounts, requests: 66, quota: free})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range awayAccounts {
		if got := n.total[i]; got > free.PerDay || got < free.PerDay*99/100 {
			n.Errorf("account %d was admitted %d times on one day, want %d to %d", i+1, got, free.PerDay*99/100, free.PerDay)
		}
	}
}

// TestServerAndStoreAway loses the server while the day store is away: who was
// there before goes on, and what was admitted is counted in the end.
func TestServerAndStoreAway(t *testing.T) {
	t.Parallel()
	for _, a := range aways() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			n := startNodes(t, 3, tolerant)
			first := n.send(load{accounts: awayAccounts, requests: 30, quota: free})
			n.breakStores(limittest.Faults{Write: errStoreAway, Read: errStoreAway})
			a.lose(n)
			stop := n.letTimePass() // nodes wait for each other for a time
			rest := n.send(load{accounts: awayAccounts, requests: 100, quota: free})
			for i := range first {
				first[i] += rest[i]
			}
			stop()
			n.check("in the minute of the switch", first, 30, 63)
			if a.alone {
				n.wait("alone")
			}
			n.clock.Advance(time.Minute)
			if a.alone {
				n.check("in a minute without both", n.send(load{accounts: awayAccounts, requests: 100, quota: free}), 60, 60)
			}
			a.heal(n)
			n.wait("together")
			n.breakStores(limittest.Faults{})
			n.clock.Advance(time.Minute)
			eventually(n, "days counted in the store", func() bool {
				n.send(load{accounts: awayAccounts, requests: 1, quota: free})
				return !slices.ContainsFunc(n.all, func(l *redislimit.Limiter) bool { return l.Stats().Degraded })
			})
			<-time.After(redislimit.SettleTime) // on the machine's clock, as beats are
			n.clock.Advance(time.Minute)
			n.check("in the minute after", n.send(load{accounts: awayAccounts, requests: 100, quota: free}), 60, 60)
			n.drainDays()
		})
	}
}

// letTimePass moves the clock as fast as the machine's, until stop is called.
func (n *nodes) letTimePass() (stop func()) {
	const step = 20 * time.Millisecond
	end := make(chan struct{})
	var passing sync.WaitGroup
	passing.Go(func() {
		ticker := time.NewTicker(step)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				n.clock.Advance(step)
			}
		}
	})
	return func() {
		close(end)
		passing.Wait()
	}
}

var errStoreAway = errors.New("the store is away")

func (n *nodes) breakStores(f limittest.Faults) {
	for _, s := range n.stores {
		s.Break(f)
	}
}

// A node that starts without a server counts alone until there is one.
func TestStartWithoutServer(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	n := &nodes{TB: t, server: server, clock: clock.NewManual(start), days: limittest.NewDays(), total: make(map[int]int64)}
	n.proxy = redistest.NewProxy(t, server.Address())
	n.add(1, tolerant)
	if mode := n.all[0].Mode(); mode != "alone" {
		t.Errorf("the node counts %s, want alone", mode)
	}
	n.clock.Advance(time.Minute)
	n.check("without a server", n.send(load{accounts: 5, requests: 100, quota: free}), 60, 60)
	server.Restart()
	n.wait("together")
	n.check("in the same minute", n.send(load{accounts: 5, requests: 100, quota: free}), 0, 0)
	n.clock.Advance(time.Minute)
	n.check("with it", n.send(load{accounts: 5, requests: 100, quota: free}), 60, 60)
}
