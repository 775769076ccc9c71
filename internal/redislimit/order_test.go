package redislimit_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
	"petcat/internal/redislimit"
	"petcat/internal/redistest"
)

// distant starts an unhurried limiter whose server is behind a proxy, so far away as
// it is told to be later. Its first request has leased a block of each account's
// day.
func distant(t *testing.T, accounts int64) (*redislimit.Limiter, *redistest.Server, *redistest.Proxy) {
	t.Helper()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Address())
	l, err := startOn(t, proxy.URL(), func(o *redislimit.Options) { redislimit.Patient(o, unhurried) })
	if err != nil {
		t.Fatal(err)
	}
	spendInTurn(t, l, accounts)
	return l, server, proxy
}

// spendInTurn sends one request of each account after the other.
func spendInTurn(t *testing.T, l *redislimit.Limiter, accounts int64) {
	t.Helper()
	for id := range accounts {
		if _, err := l.Spend(t.Context(), chargeOf(id+1)); err != nil {
			t.Fatal(err)
		}
	}
}

func chargeOf(account int64) ratelimit.Charge {
	return ratelimit.Charge{
		Account: petcat.AccountID(account), Key: petcat.KeyID(account), Quota: petcat.Quota{PerMinute: 10_000, PerDay: 1_000_000},
	}
}

// spendAtOnce sends one request of each account at the same time, and returns how
// long each took.
func spendAtOnce(t *testing.T, l *redislimit.Limiter, accounts int64) []time.Duration {
	t.Helper()
	waits := make([]time.Duration, accounts)
	var senders sync.WaitGroup
	for id := range accounts {
		senders.Go(func() {
			began := time.Now()
			d, err := l.Spend(t.Context(), chargeOf(id+1))
			waits[id] = time.Since(began)
			if err != nil || d.Verdict != ratelimit.Admitted {
				t.Errorf("account %d: %v, %v", id+1, d.Verdict, err)
			}
		})
	}
	senders.Wait()
	return waits
}

// minuteUsed returns what the server counts of an account's minute.
func minuteUsed(server *redistest.Server, account string) (int, error) {
	const script = "local _, _, used = cmsgpack.unpack(redis.call('HGET', KEYS[1], 'c')); return used"
	return strconv.Atoi(server.MustDo("EVAL", script, "1", "petcat:{acct_"+account+"}"))
}

// TestRequestsShareCalls: those that come while others are asked for are asked for
// together, and each is charged once.
func TestRequestsShareCalls(t *testing.T) {
	const accounts = 100
	l, server, proxy := distant(t, accounts)
	proxy.Delay(unhurried / 10) // some wait for two calls, and all of them in time
	before, alone := scriptCalls(t, server), l.Stats().Alone
	spendAtOnce(t, l, accounts)
	// Two calls of those that came first, and two or three of the others; beats.
	if calls := scriptCalls(t, server) - before; calls > 12 {
		t.Errorf("%d requests were asked for by %d calls", accounts, calls)
	}
	if n := l.Stats().Alone - alone; n > 0 {
		t.Fatalf("%d requests were decided without the server", n)
	}
	for _, account := range []string{"1", "2", "50", "100"} {
		if used, err := minuteUsed(server, account); err != nil || used != 2 && used != 1 {
			t.Errorf("account %s was charged %d requests of the minute, %v; want 2, or 1 if it has just begun", account, used, err)
		}
	}
}

// TestDistance: how far away the server is does not bound how many requests get
// through, only how long each takes.
func TestDistance(t *testing.T) {
	const accounts = 1_000
	l, _, proxy := distant(t, accounts)
	proxy.Delay(unhurried / 5)
	before := l.Stats().Alone
	spendAtOnce(t, l, accounts)
	// Two calls at a time would leave two in three behind.
	if n := l.Stats().Alone - before; n > accounts/4 {
		t.Errorf("%d of %d requests were decided without the server", n, accounts)
	}
}

// TestOneLostCall: it counts once, however many shared it.
func TestOneLostCall(t *testing.T) {
	l, _, _ := distant(t, 1)
	redislimit.LoseCall(l, 100)
	if s := l.Stats(); l.Mode() != "together" || s.Failures != 1 {
		t.Errorf("after a lost call it counts %s, and says that %d failed", l.Mode(), s.Failures)
	}
	redislimit.LoseCall(l, 1)
	redislimit.LoseCall(l, 1)
	if l.Mode() != "alone" {
		t.Errorf("after three lost calls it counts %s", l.Mode())
	}
}

// TestPartOfAClusterByItsOwnURL: requests do not share calls then, also when the
// server hides what it is.
func TestPartOfAClusterByItsOwnURL(t *testing.T) {
	const accounts = 100
	server := redistest.Start(t, "--cluster-enabled", "yes")
	server.MustDo("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	server.Until("the cluster is complete", func() bool {
		return strings.Contains(server.MustDo("CLUSTER", "INFO"), "cluster_state:ok")
	})
	l, err := startOn(t, server.URL(), func(*redislimit.Options) {})
	if err != nil {
		t.Fatal(err)
	}
	spendInTurn(t, l, accounts)
	before := l.Stats()
	for range 3 {
		spendAtOnce(t, l, accounts)
		redislimit.ForgetApart(l)
	}
	if s := l.Stats(); s.Alone != before.Alone || s.Failures != before.Failures {
		t.Errorf("%d requests were decided without the server, and %d calls failed", s.Alone-before.Alone, s.Failures-before.Failures)
	}
}

// TestWaitForACallCounts: who waited for a call does not get the time of a command
// on top of that.
func TestWaitForACallCounts(t *testing.T) {
	const accounts = 600 // so that some are left over when the full calls are under way
	l, _, proxy := distant(t, accounts)
	proxy.Delay(unhurried * 3 / 4)
	slowest := slices.Max(spendAtOnce(t, l, accounts))
	if slowest > unhurried+busy {
		t.Errorf("a request took %s; a command may take %s", slowest, unhurried)
	}
	t.Logf("the slowest of %d requests took %s", accounts, slowest)
}

// TestCallerGoesAway: nobody is held by a server that hangs, and those who share
// the call are not affected.
func TestCallerGoesAway(t *testing.T) {
	l, _, proxy := distant(t, 2)
	proxy.Delay(unhurried / 2)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := l.Spend(ctx, chargeOf(1))
		gone <- err
	}()
	stays := make(chan error, 1)
	go func() {
		_, err := l.Spend(t.Context(), chargeOf(2))
		stays <- err
	}()
	time.Sleep(5 * time.Millisecond)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) || petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Errorf("who went away got %v", err)
	}
	if err := <-stays; err != nil {
		t.Errorf("who stayed got %v", err)
	}
	if n := l.Stats().Failures; n > 0 {
		t.Errorf("%d commands are said to have failed", n)
	}
}
