package redislimit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/limittest"
	"petcat/internal/ratelimit"
	"petcat/internal/redislimit"
	"petcat/internal/redistest"
)

// TestServerTime runs on the server's own clock.
func TestServerTime(t *testing.T) {
	l, err := redislimit.New(t.Context(), redislimit.Options{
		URL: petcat.NewSecret(redistest.Start(t).URL()), Clock: clock.NewManual(start.AddDate(-1, 0, 0)), Days: limittest.NewDays().Process(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context())
	before := time.Now()
	d, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: free})
	if err != nil {
		t.Fatal(err)
	}
	if now := time.Unix(0, d.Now); now.Before(before.Add(-time.Second)) || now.After(time.Now().Add(time.Second)) {
		t.Errorf("the decision was made at %s, want the server's time, about %s", now, before)
	}
}

// Three nodes whose own clocks are all wrong, on the server's time: in each
// minute of the server exactly the limit.
func TestServerTimeOnThreeNodes(t *testing.T) {
	server, days := redistest.Start(t), limittest.NewDays()
	var all []*redislimit.Limiter
	for i := range 3 {
		l, err := startOn(t, server.URL(), func(o *redislimit.Options) {
			o.Clock, o.Days = clock.NewManual(start.AddDate(0, 0, i)), days.Process()
			o.LiveNodes = func() int { return 3 }
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	var mu sync.Mutex
	admitted, refused := make(map[int64]int), make(map[int64]int)
	var senders sync.WaitGroup
	for _, l := range all {
		senders.Go(func() {
			for range 100 {
				d, err := l.Spend(t.Context(), ratelimit.Charge{Account: 1, Key: 1, Quota: free})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if d.Verdict == ratelimit.Admitted {
					admitted[d.Minute.Reset]++
				} else {
					refused[d.Minute.Reset]++
				}
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	for minute, n := range admitted {
		if n > 60 || n < 60 && refused[minute] > 0 {
			t.Errorf("in the minute that ends at %d, %d were admitted and %d refused, want 60", minute, n, refused[minute])
		}
	}
	if len(refused) == 0 {
		t.Error("nothing was refused")
	}
}

func startOn(t *testing.T, url string, change func(*redislimit.Options)) (*redislimit.Limiter, error) {
	t.Helper()
	o := redislimit.Options{URL: petcat.NewSecret(url), Clock: clock.NewSystem(), Days: limittest.NewDays().Process()}
	if change != nil {
		change(&o)
	}
	l, err := redislimit.New(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { _ = l.Close(context.WithoutCancel(t.Context())) })
	}
	return l, err
}

func TestNewRefuses(t *testing.T) {
	const planted = "hunter2hunter2"
	server := redistest.Start(t)
	locked := redistest.Start(t, "--requirepass", planted)
	evicting := redistest.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	for _, tc := range []struct{ name, url, want string }{
		{"a server that evicts", evicting.URL(), "noeviction"},
		{"no password", locked.URL(), "NOAUTH"},
		{"another password", strings.Replace(locked.URL(), "redis://", "redis://:x"+planted+"@", 1), "WRONGPASS"},
		{"a database that is not there", server.URL() + "/99", "DB index"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := startOn(t, tc.url, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New: %v, want an error with %s", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), planted) {
				t.Errorf("the error holds the password: %v", err)
			}
		})
	}
	t.Run("not when told that eviction is fine", func(t *testing.T) {
		if _, err := startOn(t, evicting.URL(), func(o *redislimit.Options) { o.AllowEviction = true }); err != nil {
			t.Error(err)
		}
	})
	t.Run("not with the password", func(t *testing.T) {
		l, err := startOn(t, strings.Replace(locked.URL(), "redis://", "redis://:"+planted+"@", 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		if l.Mode() != "together" {
			t.Errorf("mode %s", l.Mode())
		}
	})
}

// A password that changes while the limiter runs is an outage like any other,
// and the log does not tell it.
func TestPasswordChanges(t *testing.T) {
	const planted = "hunter2hunter2"
	server := redistest.Start(t, "--requirepass", planted)
	var log lockedBuffer
	l, err := startOn(t, strings.Replace(server.URL(), "redis://", "redis://:"+planted+"@", 1), func(o *redislimit.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	if err != nil {
		t.Fatal(err)
	}
	change := func(from, to string) {
		t.Helper()
		if _, err := server.DoAs(from, "CONFIG", "SET", "requirepass", to); err != nil {
			t.Fatal(err)
		}
		if _, err := server.DoAs(to, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"); err != nil {
			t.Fatal(err)
		}
	}
	key := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}}
	inMode := func(mode string) {
		t.Helper()
		eventually(t, mode, func() bool {
			if _, err := l.Spend(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			return l.Mode() == mode
		})
	}
	change(planted, "another")
	inMode("alone")
	change("another", planted)
	inMode("together")
	if text := log.String(); strings.Contains(text, planted) || !strings.Contains(text, "away") {
		t.Errorf("the log holds the password, or nothing of what happened:\n%s", text)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestEveryKeyExpires, and all of an account have one hash tag.
func TestEveryKeyExpires(t *testing.T) {
	n := startNodes(t, 2, 10*time.Second)
	n.send(load{accounts: 5, requests: 100, quota: free})
	n.offend()
	n.spend(0, spent, ratelimit.Banned)
	n.all[0].ApplyBan(petcat.Ban{Key: 500, Account: 50, Level: 5, StartedAt: start, EndsAt: start.Add(6 * time.Hour)})
	keys := strings.Split(n.server.MustDo("KEYS", "*"), "\n")
	if len(keys) < 12 {
		t.Errorf("%d keys: %q", len(keys), keys)
	}
	for _, key := range keys {
		ttl, err := strconv.Atoi(n.server.MustDo("TTL", key))
		if err != nil || ttl <= 0 || ttl > 7*24*3600 {
			t.Errorf("%s lives for %d s", key, ttl)
		}
		if !strings.HasPrefix(key, "petcat:{acct_") && !strings.HasPrefix(key, "petcat:{nodes_") {
			t.Errorf("%s is not in the slot of an account", key)
		}
	}
}

// A charge whose answer is lost is not sent again: the server counts it once,
// and this node, which admitted it, tells the server once.
func TestLostAnswerChargesOnce(t *testing.T) {
	n := startNodes(t, 1, tolerant)
	key := ratelimit.Charge{Account: 1, Key: 1, Quota: free}
	n.spend(0, key, ratelimit.Admitted)
	n.proxy.Delay(2 * tolerant)
	n.spend(0, key, ratelimit.Admitted)
	n.proxy.Heal()
	n.wait("together")
	used := func() int {
		count, err := minuteUsed(n.server, "1")
		if err != nil {
			t.Fatal(err)
		}
		return count
	}
	eventually(t, "the server is told", func() bool { return used() > 1 })
	time.Sleep(time.Second) // whatever else would send it again
	// One, the one whose answer was lost unless it never left, and the same told by
	// the node.
	if got := used(); got > 3 {
		t.Errorf("the server counts %d, want at most 3", got)
	}
}

// TestToldAgainCountsOnce: what a node admitted alone is counted once, also when the
// answer of the server that counted it was lost.
func TestToldAgainCountsOnce(t *testing.T) {
	n := startNodes(t, 2, 10*time.Second)
	n.spend(0, ratelimit.Charge{Account: 1, Key: 1, Quota: free}, ratelimit.Admitted)
	for _, l := range n.all {
		for range 3 {
			redislimit.AdmitAlone(l, 1)
		}
		redislimit.Merge(l, 1, true)
		redislimit.AdmitAlone(l, 1)
		redislimit.Merge(l, 1, true)
		redislimit.Merge(l, 1, false)
	}
	if used, err := minuteUsed(n.server, "1"); err != nil || used != 1+2*4 {
		t.Errorf("the server counts %d, %v; want one that it admitted, and four of each of two nodes", used, err)
	}
}

// TestStoreAway: without the day store the nodes go on, and owe.
func TestStoreAway(t *testing.T) {
	n := startNodes(t, 1, 10*time.Second)
	process := n.days.Process()
	l, err := redislimit.StartVirtual(t.Context(), redislimit.Options{
		URL: petcat.NewSecret(n.proxy.URL()), Clock: n.clock, Days: process, Namespace: "store",
	}, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context())
	spend := func(account int64) (ratelimit.Decision, error) {
		return l.Spend(t.Context(), ratelimit.Charge{
			Account: petcat.AccountID(account), Key: petcat.KeyID(account), Quota: petcat.Quota{PerMinute: 10_000, PerDay: 1_000},
		})
	}
	if _, err := spend(1); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk full")
	process.Break(limittest.Faults{Write: broken})
	for i := range 300 {
		if d, err := spend(1); err != nil || d.Verdict != ratelimit.Admitted {
			t.Fatalf("request %d: %+v, %v", i, d, err)
		}
	}
	// An account that is new to the server, while counts can be read, and then not.
	if d, err := spend(2); err != nil || d.Verdict != ratelimit.Admitted {
		t.Errorf("a new account: %+v, %v", d, err)
	}
	process.Break(limittest.Faults{Write: broken, Read: broken})
	if _, err := spend(3); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Errorf("an unknown account: %v, want service_unavailable", err)
	}
	if !l.Stats().Degraded {
		t.Error("a store that is away is not told of")
	}
	process.Break(limittest.Faults{})
	today := start.Unix() / 86_400
	eventually(t, "what is owed is leased", func() bool {
		_, err := spend(1)
		return err == nil && n.days.Count(1, today) >= 301 && !l.Stats().Degraded
	})
	var admitted int64
	for {
		d, err := spend(1)
		if err != nil {
			t.Fatal(err)
		}
		if admitted = 1_000 - d.Day.Remaining; d.Verdict != ratelimit.Admitted {
			break
		}
	}
	if count := n.days.Count(1, today); admitted != 1_000 || count != 1_000 {
		t.Errorf("%d admitted, the store counts %d, want 1000 each", admitted, count)
	}
}

// TestCloseGivesBack: the last node returns what is leased and not spent; one
// that others survive does not.
func TestCloseGivesBack(t *testing.T) {
	n := startNodes(t, 2, 10*time.Second)
	n.send(load{accounts: 3, requests: 31, quota: free})
	today := start.Unix() / 86_400
	time.Sleep(300 * time.Millisecond) // until both have heard of each other
	if err := n.all[0].Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if count := n.days.Count(1, today); count <= 31 {
		t.Errorf("the store counts %d after the first of two nodes closed: it took the block of the other", count)
	}
	time.Sleep(300 * time.Millisecond)
	if err := n.all[1].Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for account := range petcat.AccountID(3) {
		if count := n.days.Count(account+1, today); count != 31 {
			t.Errorf("account %d: the store counts %d after both closed, want 31", account+1, count)
		}
	}
}

// TestOneNodeCutOff: the others leave it its share.
func TestOneNodeCutOff(t *testing.T) {
	n := startNodes(t, 0, 0)
	n.add(3, tolerant)
	n.add(3, tolerant)
	shared, proxy := n.proxy, redistest.NewProxy(t, n.server.Address())
	n.proxy = proxy // the third has a network of its own
	n.add(3, tolerant)
	n.proxy = shared
	n.send(load{accounts: 5, requests: 30, quota: free})
	proxy.Cut()
	n.send(load{accounts: 5, requests: 30, quota: free})
	eventually(t, "the third alone", func() bool { return n.all[2].Mode() == "alone" })
	eventually(t, "the others know", func() bool { return n.all[0].Stats().Heard == 2 && n.all[1].Stats().Heard == 2 })
	time.Sleep(1500 * time.Millisecond)
	n.clock.Advance(time.Minute)
	n.check("with one node cut off", n.send(load{accounts: 5, requests: 200, quota: free}), 60, 60)
	proxy.Heal()
	n.wait("together")
	eventually(t, "all are heard", func() bool { return n.all[0].Stats().Heard == 3 })
	time.Sleep(300 * time.Millisecond)
	n.clock.Advance(time.Minute)
	n.check("with all of them", n.send(load{accounts: 5, requests: 200, quota: free, skew: true}), 60, 60)
}
