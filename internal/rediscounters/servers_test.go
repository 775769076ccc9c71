package rediscounters_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/proxytest"
	"petcat/internal/rediscounters"
	"petcat/internal/redistest"
	"petcat/internal/stalltest"
)

// TestRestart: a server that is killed and comes back with some or all of its data
// begins a new epoch, and no node uses what it remembers of the old.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes")
	a, b := join(t, server.URL()), join(t, server.URL())
	if a.epoch != b.epoch {
		t.Fatalf("two nodes in the epochs %+v and %+v", a.epoch, b.epoch)
	}
	a.fill(10)
	if f, err := b.charge(1); err != nil || f.MinuteUsed < 1 || f.Day.Granted != 1_000 {
		t.Errorf("the other node: %+v, %v", f, err)
	}
	old := a.epoch
	server.Restart()
	if a.learn() == old {
		t.Error("the epoch survived a restart")
	}
	if used := server.MustDo("DBSIZE"); used != "2" {
		t.Errorf("after the restart there are %s keys: the data was lost, so this proves nothing", used)
	}
	// The client connects again by itself.
	eventually(t, "the other node is told", func() bool {
		_, err := b.charge(1)
		wrong, is := errors.AsType[*counters.WrongEpoch](err)
		return is && wrong.Now == a.epoch
	})
	if err := b.Grant(b.context(), 0, b.epoch, []counters.Grant{{Account: account}}); err == nil {
		t.Error("a grant was taken in an epoch that is over")
	}
}

// TestEmptied: each way in which keys are lost begins a new epoch; that the server
// forgets scripts does not.
func TestEmptied(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	n := join(t, server.URL())
	n.fill(10)
	server.MustDo("SCRIPT", "FLUSH")
	n.wantEpoch()
	for _, command := range []string{"FLUSHALL", "FLUSHDB"} {
		server.MustDo(command)
		n.wantWrongEpoch()
		n.fill(10)
	}
	server.MustDo("FLUSHALL")
	if before := n.epoch; n.learn() == before {
		t.Error("a probe did not begin an epoch")
	}
	n.wantEpoch()
}

// TestPromotion: a replica that did not hear of everything takes over, and later the
// server that was the primary before, without a call to the other in between.
func TestPromotion(t *testing.T) {
	t.Parallel()
	x, y := redistest.Start(t, "--repl-diskless-sync-delay", "0"), redistest.Start(t, "--repl-diskless-sync-delay", "0")
	n := join(t, x.URL())
	n.fill(10)
	y.Follow(x.Address())
	n.learn() // the first replica may have changed the id
	n.fill(10)
	y.Until("it has heard so far", func() bool { return y.MustDo("DBSIZE") == "2" })
	n.wantEpoch()

	// The replica refuses.
	beside := &node{TB: t, Counters: open(t, y.URL(), nil), epoch: n.epoch}
	if f, err := beside.charge(0); err == nil || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("a charge on a replica: %+v, %v; want READONLY", f, err)
	}
	// It takes over with the data, while the primary is thought to be gone.
	y.MustDo("REPLICAOF", "NO", "ONE")
	beside.learn()
	if beside.epoch == n.epoch {
		t.Error("the epoch survived a promotion")
	}
	// What it did not hear of:
	n.wantEpoch()
	n.fill(10)

	// The first primary follows a server that has not heard of everything, and is
	// promoted again. Nobody called it meanwhile.
	z := redistest.Start(t, "--repl-diskless-sync-delay", "0")
	z.Follow(x.Address())
	n.learn()
	n.fill(10)
	z.Until("it has heard so far", func() bool { return strings.Contains(z.MustDo("KEYS", "*"), "epoch") })
	z.MustDo("REPLICAOF", "NO", "ONE")
	if f, err := n.charge(100); err != nil || f.MinuteUsed < 100 {
		t.Fatalf("%+v, %v", f, err)
	}
	x.Follow(z.Address())
	x.MustDo("REPLICAOF", "NO", "ONE")
	eventually(t, "the node is told", func() bool {
		f, err := n.charge(1)
		wrong, is := errors.AsType[*counters.WrongEpoch](err)
		if err == nil {
			t.Fatalf("a charge was decided by counts of another server: %+v", f)
		}
		return is && wrong.Now.ID != n.epoch.ID
	})
}

// TestRacingNodes: nodes that find a new epoch due at the same time are in the same.
func TestRacingNodes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var nodes []*node
	for range 4 {
		nodes = append(nodes, join(t, server.URL()))
	}
	for range 20 {
		server.Flush()
		var all sync.WaitGroup
		for i, n := range nodes {
			all.Go(func() {
				if i%2 == 0 {
					n.learn()
				} else {
					n.wantWrongEpoch()
				}
			})
		}
		all.Wait()
		for _, n := range nodes {
			if n.epoch != nodes[0].epoch {
				t.Fatalf("epochs %+v and %+v", n.epoch, nodes[0].epoch)
			}
		}
	}
}

// TestSentinel loses the primary.
func TestSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	allow(rights+" +role", s.Primary, s.Replica)
	allow("ACL SETUSER watcher on >PASSWORD resetchannels &* -@all +hello +client +ping +sentinel +subscribe +psubscribe +unsubscribe +punsubscribe", s.Watcher)
	n := join(t, strings.Replace(s.URL(), "://", "://"+user, 1)+"&sentinel_username=watcher&sentinel_password=PASSWORD")
	n.fill(10)
	old := n.epoch
	s.Primary.Kill()
	if n.learn() == old {
		t.Error("the epoch survived a failover")
	}
	n.wantEpoch()
	n.fill(10)
	if role := s.Replica.MustDo("ROLE"); !strings.HasPrefix(role, "master") {
		t.Errorf("the replica's role is %q", role)
	}
	n.everything()
	wantNothingDenied(t, s.Replica, s.Watcher)
}

// TestLostAnswer: a charge whose answer is lost counts once, and the call ends with its
// context; so does one to a server that hangs, and one while nobody is connected.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := proxytest.New(t, server.Address())
	n := join(t, "redis://"+proxy.Address())
	n.fill(10)
	before, err := n.charge(0)
	if err != nil {
		t.Fatal(err)
	}
	control := stalltest.Start(t)
	brief := func() {
		t.Helper()
		ctx, cancel := timeout(50 * time.Millisecond)
		defer cancel()
		control.Lap()
		began := time.Now()
		if _, err := n.Charge(ctx, 0, n.epoch, []counters.Charge{{Account: account, Requests: 1, PerMinute: 1_000, PerDay: 1_000, Series: series}}); err == nil {
			t.Error("a charge was answered")
		}
		control.Judge("a call with 50 ms", time.Since(began), 100*time.Millisecond)
	}
	proxy.Delay(300 * time.Millisecond)
	brief()
	proxy.Drop()
	proxy.Heal()
	n.learn()
	after, err := n.charge(0)
	if err != nil || petcat.Minute.Index(after.Now/1e9) == petcat.Minute.Index(before.Now/1e9) && after.MinuteUsed-before.MinuteUsed != 1 {
		t.Errorf("%d and then %d are used, %v", before.MinuteUsed, after.MinuteUsed, err)
	}
	server.Hang()
	for range 3 {
		brief()
	}
	server.Resume()
	n.learn()
	proxy.Cut()
	proxy.Drop()
	for range 3 {
		brief()
	}
	proxy.Heal()
	// A connection that was broken meanwhile may be noticed by the call after the next.
	eventually(t, "the node goes on", func() bool {
		n.learn()
		_, err := n.charge(0)
		return err == nil
	})
}

// TestStartsWithoutServer: a node starts while there is nobody, and finds who comes.
func TestStartsWithoutServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	n := &node{TB: t, Counters: open(t, server.URL(), nil)}
	if _, err := n.charge(1); err == nil {
		t.Error("a charge was answered by nobody")
	}
	if _, _, err := n.Probe(n.context(), 0); err == nil {
		t.Error("a probe was answered by nobody")
	}
	server.Restart()
	n.learn()
	n.fill(1)
}

// bytesOfAccount is what docs/scaling.md says that an account takes in Redis.
const bytesOfAccount = 224

// TestEveryKeyExpires: nothing stays for ever, and an account takes as much memory as is
// said.
func TestEveryKeyExpires(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	midnight := start - start%int64(24*time.Hour)
	n := &node{TB: t, Counters: open(t, server.URL(), func(o *rediscounters.Options) {
		rediscounters.Virtual(o, func() int64 { return midnight })
	})}
	n.learn()
	n.fill(1)
	if _, err := n.ShareRetries(n.context(), 0, "a", []counters.KeyRetries{{Key: 1, Retries: 1}}); err != nil {
		t.Fatal(err)
	}
	life := func(key string) time.Duration {
		ttl, err := time.ParseDuration(server.MustDo("TTL", "petcat:{10}:"+key) + "s")
		if err != nil {
			t.Fatal(err)
		}
		return ttl
	}
	if err := n.Grant(n.context(), 0, n.epoch, []counters.Grant{{Account: 128, Day: 1, Series: 1, Granted: 1, Count: 1}}); err != nil {
		t.Fatal(err)
	}
	// The grant was for an account that nobody has charged.
	if keys := server.MustDo("DBSIZE"); keys != "3" {
		t.Errorf("%s keys", keys)
	}
	// A day has just begun, and an account must outlive tomorrow.
	if got := life("64"); got <= 48*time.Hour || got > 61*time.Hour {
		t.Errorf("an account lives for %s", got)
	}
	if got := life("epoch"); got < 6*24*time.Hour {
		t.Errorf("an epoch lives for %s", got)
	}
	// docs/scaling.md says how much memory an account takes.
	if bytes, err := strconv.Atoi(server.MustDo("MEMORY", "USAGE", "petcat:{10}:64")); err != nil || bytes > bytesOfAccount {
		t.Errorf("an account takes %d bytes, %v; want at most %d", bytes, err, bytesOfAccount)
	}
	if got := life("key:1"); got <= 0 || got > time.Minute {
		t.Errorf("early retries live for %s", got)
	}
	server.MustDo("EXPIRE", "petcat:{10}:epoch", "100")
	n.learn()
	if got := life("epoch"); got < 6*24*time.Hour {
		t.Errorf("after a probe an epoch lives for %s", got)
	}
}
