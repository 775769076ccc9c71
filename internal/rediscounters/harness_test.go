package rediscounters_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/rediscounters"
	"petcat/internal/redistest"
)

// start is a quarter of an hour before midnight.
const start = 1_800_056_700 * int64(time.Second)

// open returns counters on a URL.
func open(t testing.TB, url string, change func(*rediscounters.Options)) *rediscounters.Counters {
	t.Helper()
	o := rediscounters.Options{URL: petcat.NewSecret(url)}
	if change != nil {
		change(&o)
	}
	c, err := rediscounters.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// node is one that uses counters of one partition.
type node struct {
	testing.TB
	*rediscounters.Counters
	partition int
	epoch     counters.Epoch
}

// join starts a node that knows the epoch.
func join(t testing.TB, url string) *node {
	t.Helper()
	n := &node{TB: t, Counters: open(t, url, nil)}
	n.learn()
	return n
}

const startTimeout = 15 * time.Second

func (n *node) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	n.Cleanup(cancel)
	return ctx
}

// learn probes until there is an answer.
func (n *node) learn() counters.Epoch {
	n.Helper()
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(10 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		e, now, err := n.Probe(ctx, n.partition)
		cancel()
		if err == nil {
			if e.ID < 1 || e.ID >= 1<<48 || e.Began <= 0 || e.Began > now {
				n.Fatalf("epoch %+v at %d", e, now)
			}
			n.epoch = e
			return e
		}
		if time.Now().After(deadline) {
			n.Fatalf("no answer to a probe: %v", err)
		}
	}
}

const account, series = 64, 7 // in the partition 0 of 64, too

// charge asks for requests in the node's epoch.
func (n *node) charge(requests int64) (counters.Facts, error) {
	f, err := n.Charge(n.context(), n.partition, n.epoch, []counters.Charge{
		{Account: petcat.AccountID(account + n.partition), Requests: requests, PerMinute: 1_000, PerDay: 1_000_000, Series: series},
	})
	if err != nil {
		return counters.Facts{}, err
	}
	return f[0], nil
}

// fill grants the account a block, and charges it.
func (n *node) fill(requests int64) {
	n.Helper()
	f, err := n.charge(0)
	if err != nil {
		n.Fatal(err)
	}
	day := petcat.Day.Index(f.Now / int64(time.Second))
	if err := n.Grant(n.context(), n.partition, n.epoch, []counters.Grant{
		{Account: petcat.AccountID(account + n.partition), Day: day, Series: f.Day.Series, Granted: 1_000, Count: 1_000},
	}); err != nil {
		n.Fatal(err)
	}
	if f, err := n.charge(requests); err != nil || f.Admitted != requests {
		n.Fatalf("%d of %d admitted, %v", f.Admitted, requests, err)
	}
}

// wantWrongEpoch wants a charge to be told of another epoch, in which the node then is.
func (n *node) wantWrongEpoch() {
	n.Helper()
	f, err := n.charge(1)
	wrong, is := errors.AsType[*counters.WrongEpoch](err)
	if !is {
		n.Fatalf("a charge in the epoch %d: %+v, %v; want to be told of another", n.epoch.ID, f, err)
	}
	if wrong.Now.ID == n.epoch.ID {
		n.Fatalf("told of the same epoch %+v", wrong.Now)
	}
	n.epoch = wrong.Now
	if f, err := n.charge(0); err != nil || f.Day.Known {
		n.Fatalf("in the new epoch: %+v, %v; want a day that is not known", f, err)
	}
}

// wantEpoch wants a charge to be decided in the node's epoch.
func (n *node) wantEpoch() {
	n.Helper()
	if _, err := n.charge(0); err != nil {
		n.Fatalf("a charge in the epoch: %v", err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, startTimeout)
		}
	}
}

func timeout(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

func port(s *redistest.Server) string { return strconv.Itoa(s.Port()) }
