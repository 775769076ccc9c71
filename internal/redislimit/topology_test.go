package redislimit_test

import (
	"strings"
	"testing"
	"time"

	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/redistest"
)

// startNodesOn starts three nodes on a URL.
func startNodesOn(t *testing.T, url string) *nodes {
	t.Helper()
	n := &nodes{TB: t, url: url, clock: clock.NewManual(start), days: limittest.NewDays(), total: make(map[int]int64)}
	for range 3 {
		n.add(3, tolerant)
	}
	n.wait("together")
	return n
}

// TestSentinel loses the primary; the nodes go on with its successor.
func TestSentinel(t *testing.T) {
	s := redistest.StartSentinel(t)
	n := startNodesOn(t, s.URL())
	n.check("with the primary", n.send(load{accounts: 10, requests: 100, quota: free}), 60, 60)
	n.clock.Advance(time.Minute)
	first := n.send(load{accounts: 10, requests: 30, quota: free})
	s.Primary.Kill()
	rest := n.send(load{accounts: 10, requests: 100, quota: free})
	for i := range first {
		first[i] += rest[i]
	}
	n.check("when it is lost", first, 30, 63)
	n.wait("alone")
	n.wait("together")
	if role := s.Replica.MustDo("ROLE"); !strings.HasPrefix(role, "master") {
		t.Errorf("the replica's role is %q", role)
	}
	n.clock.Advance(time.Minute)
	n.check("with its successor", n.send(load{accounts: 10, requests: 100, quota: free}), 60, 60)
}

// TestCluster loses one of three primaries: the accounts of the others are
// counted together all the same.
func TestCluster(t *testing.T) {
	c := redistest.StartCluster(t)
	n := startNodesOn(t, c.URL())
	n.check("with all of it", n.send(load{accounts: 40, requests: 100, quota: free}), 60, 60)
	used := 0
	for _, s := range c.Servers {
		if s.MustDo("DBSIZE") != "0" {
			used++
		}
	}
	if used != 3 {
		t.Errorf("the accounts are on %d servers, want 3", used)
	}

	n.clock.Advance(time.Minute)
	c.Servers[1].Kill()
	n.check("when a part is lost", n.send(load{accounts: 40, requests: 200, quota: free}), 40, 63)
	n.clock.Advance(time.Minute)
	// Few accounts are in a lane that has slots of a lost server and of another:
	// they get less.
	n.check("without it", n.send(load{accounts: 40, requests: 200, quota: free}), 40, 60)
	n.clock.Advance(time.Minute)
	// A load that goes to one node tells who counts alone: those get a share.
	full := 0
	for _, got := range n.send(load{accounts: 40, requests: 40, quota: free, single: true}) {
		switch {
		case got == 40:
			full++
		case got > 20:
			t.Errorf("an account was admitted %d times, want 40 or at most its share of 20", got)
		}
	}
	if full < 20 || full > 35 {
		t.Errorf("%d of 40 accounts are counted together, want about two thirds", full)
	}
	c.Servers[1].Restart()
}
