package e2e

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
)

// heard is how long the nodes took to obey commands. The tests that measure it run
// by themselves: beside others, they would measure how busy the machine is.
type heard struct {
	t    testing.TB
	took []time.Duration
}

// runs runs a command and waits until a condition holds on every node.
func (h *heard) runs(c *cluster, obeyed func(*server) bool, command ...string) {
	h.t.Helper()
	c.control().Lap()
	begin := time.Now()
	petcatDoes(h.t, c.database, command...)
	var mu sync.Mutex
	var slowest time.Duration
	c.each(func(s *server) {
		if !within(10*time.Second, func() bool { return obeyed(s) }) {
			h.t.Errorf("a node does not obey %q", command)
		}
		took := time.Since(begin)
		mu.Lock()
		defer mu.Unlock()
		h.took, slowest = append(h.took, took), max(slowest, took)
	})
	c.control().Judge(fmt.Sprintf("the nodes obey %q", command), slowest, heardWithin)
}

func (h *heard) report(what string) {
	h.t.Logf("%s: known on %d nodes after %s (median), %s (p99), %s (slowest), from the command's start", what, len(h.took),
		percentile(h.took, 50).Round(time.Millisecond), percentile(h.took, 99).Round(time.Millisecond), slices.Max(h.took).Round(time.Millisecond))
}

// code returns a condition: a list with a key has this code.
func code(key string, want petcat.Code) func(*server) bool {
	return func(s *server) bool { return s.list(key).code() == want }
}

// TestClusterRevocations: a key that is revoked is refused on all nodes
// within a second, every time.
func TestClusterRevocations(t *testing.T) {
	times := often(t, 20, 1_000)
	c := newCluster(t)
	c.start(3)
	openAccount(t, c.database, "acme", unlimited...)
	h := &heard{t: t}
	for range times {
		id, key := issueKey(t, c.database, "acme")
		for _, s := range c.nodes { // each has it in memory
			wantStatus(t, s.list(key), http.StatusOK)
		}
		h.runs(c, code(key, petcat.CodeRevokedAPIKey), "key", "revoke", id, "--yes")
	}
	h.report(fmt.Sprint(times, " revocations"))
	c.mustStop()
}

// TestClusterAccessChanges: so do the other changes.
func TestClusterAccessChanges(t *testing.T) {
	times := often(t, 3, 100)
	c := newCluster(t)
	// These callers do not wait. Each of their requests has an address of its own:
	// polling with a disabled key would spend what one address may try.
	c.start(3, "--bans", "off", "--trusted-proxies", "127.0.0.1/32")
	var address atomic.Uint32
	answered := func(s *server, key string) petcat.Code {
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], 0x0a000000+address.Add(1)) // 10.0.0.0/8
		return s.list(key, withHeader("X-Forwarded-For", netip.AddrFrom4(ip).String())).code()
	}
	openAccount(t, c.database, "acme", unlimited...)
	id, key := issueKey(t, c.database, "acme")
	keys, plans := &heard{t: t}, &heard{t: t}
	// Plans that differ in a minute's quota, which is larger than what is asked.
	setPlan := func(perMinute int64) {
		obeyed := func(s *server) bool { return s.list(key).number(t, "X-RateLimit-Limit") == perMinute }
		plans.runs(c, obeyed, "account", "set-plan", "acme", "--plan", "enterprise", "--per-minute", fmt.Sprint(perMinute), "--per-day", "1000000000")
	}
	for _, s := range c.nodes {
		wantStatus(t, s.list(key), http.StatusOK)
	}
	for range times {
		keys.runs(c, func(s *server) bool { return answered(s, key) == petcat.CodeDisabledAPIKey }, "key", "disable", id)
		keys.runs(c, func(s *server) bool { return answered(s, key) == "" }, "key", "enable", id)
		setPlan(1_000_000)
		setPlan(2_000_000)
	}
	keys.report("disable and enable")
	plans.report("set-plan")
	c.mustStop()
}

// TestClusterBans: who is banned by one node is kept out by all, and let in by
// all when the ban is lifted.
func TestClusterBans(t *testing.T) {
	times := often(t, 5, 50)
	c := newCluster(t)
	c.start(3)
	awaitRoomInDay(t, 30*time.Second)
	ids, keys := make([]string, times), make([]string, times)
	for i := range keys {
		account := fmt.Sprint("impatient", i)
		// A day of one request, so that no minute's end gets in the way.
		openAccount(t, c.database, account, "enterprise", "--per-minute", "1", "--per-day", "1")
		ids[i], keys[i] = issueKey(t, c.database, account)
		s := c.nodes[i%len(c.nodes)]
		wantStatus(t, s.list(keys[i]), http.StatusOK)
		wantError(t, s.list(keys[i]), http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded)
	}
	for i, key := range keys {
		by := c.nodes[i%len(c.nodes)]
		eventually(t, 15*time.Second, "a key is banned", by.answers(key, petcat.CodeKeyBanned))
		var end int64
		eventually(t, 5*time.Second, "the ban is saved", func() bool {
			for _, ban := range c.bans() {
				if ban.Key == ids[i] {
					end = ban.end(t)
				}
			}
			return end != 0
		})
		// Who is banned with the day spent is told the day's end. With a day that has
		// room again, it is the ban's.
		petcatDoes(t, c.database, "account", "set-plan", fmt.Sprint("impatient", i), "--plan", "pro")
		c.control().Measure("all nodes tell the ban that one imposed", heardWithin, func() {
			c.each(func(s *server) {
				told := func() bool {
					a := s.list(key)
					return a.code() == petcat.CodeKeyBanned && a.number(t, "X-RateLimit-Reset") == end
				}
				if !within(10*time.Second, told) {
					t.Errorf("a node does not tell the ban that another imposed, until %d: %s", end, s.list(key).body)
				}
			})
		})
	}
	if n := len(c.bans()); n != times {
		t.Errorf("%d bans are saved; want %d", n, times)
	}
	lifted := &heard{t: t}
	for i, key := range keys {
		lifted.runs(c, code(key, ""), "ban", "lift", ids[i])
	}
	lifted.report("ban lift")
	if left := c.bans(); len(left) > 0 {
		t.Errorf("ban list still shows %v", left)
	}
	c.mustStop()
}

// bans returns what ban list shows.
func (c *cluster) bans() (bans []ban) {
	c.t.Helper()
	must(c.t, json.Unmarshal([]byte(petcatDoes(c.t, c.database, "ban", "list", "--json")), &bans))
	return bans
}
