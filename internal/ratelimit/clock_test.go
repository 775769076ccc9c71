package ratelimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// trueTime is the time of the counters and of clients.
type trueTime struct {
	now   int64
	there time.Duration // latency of the next call to the counters
	back  time.Duration // latency of its response
}

// nodeClock is a node's clock, which differs from the true time.
type nodeClock struct {
	of     *trueTime
	wall   time.Duration // lead of the wall clock
	asleep time.Duration // time for which the monotonic clock stopped
	rate   float64       // drift of the monotonic clock
}

func (c *nodeClock) Read() clock.Reading {
	passed := float64(c.of.now - noon.UnixNano())
	return clock.Reading{Wall: c.of.now + int64(c.wall), Mono: int64(passed*(1+c.rate)) - int64(c.asleep)}
}

// Read implements [clock.Clock] for the counters.
func (w *trueTime) Read() clock.Reading { return clock.Reading{Wall: w.now} }

// slowCounters are counters with network latency.
type slowCounters struct {
	counters

	of *trueTime
}

func (c *slowCounters) Charge(ctx context.Context, charges []petcat.QuotaCharge) ([]petcat.QuotaCount, error) {
	c.of.now += int64(c.of.there)
	counts, err := c.counters.Charge(ctx, charges)
	c.of.now += int64(c.of.back)
	c.of.there, c.of.back = 0, 0
	return counts, err
}

// Every node allows a request after Retry-After, whatever happens to the clock of one node. Each case
// starts 30 s into a minute.
func TestAllowedAfterRetryAfter(t *testing.T) {
	charge := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 5, PerDay: 1_000}}
	for _, c := range []struct {
		name           string
		before, during func(w *trueTime, c *nodeClock)
	}{
		{name: "nothing"},
		{name: "set forward", during: func(_ *trueTime, c *nodeClock) { c.wall = 3 * time.Second }},
		{name: "set back", during: func(_ *trueTime, c *nodeClock) { c.wall = -3 * time.Second }},
		{name: "set back by an hour", during: func(_ *trueTime, c *nodeClock) { c.wall = -time.Hour }},
		{name: "wrong all the time", before: func(_ *trueTime, c *nodeClock) { c.wall = time.Hour }},
		{name: "suspended", during: func(_ *trueTime, c *nodeClock) { c.asleep = 20 * time.Second }},
		{name: "slow", before: func(_ *trueTime, c *nodeClock) { c.rate = -500e-6 }},
		{name: "fast", before: func(_ *trueTime, c *nodeClock) { c.rate = 500e-6 }},
		{name: "a call is late", before: func(w *trueTime, _ *nodeClock) { w.there = 5 * time.Second }},
		{name: "a response is late", before: func(w *trueTime, _ *nodeClock) { w.back = 5 * time.Second }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &trueTime{now: noon.Add(30 * time.Second).UnixNano()}
			counts := &slowCounters{counters{clock: w, used: make(map[petcat.AccountID]petcat.QuotaCount)}, w}
			own := &nodeClock{of: w}
			node := newShared(own, counts)
			other := newShared(&nodeClock{of: w}, counts)
			defer node.Close()
			defer other.Close()
			spend := func(l *ratelimit.Limiter) ratelimit.Decision {
				t.Helper()
				d, err := l.Spend(t.Context(), charge)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			for range 5 {
				spend(other)
			}
			if c.before != nil {
				c.before(w, own)
			}
			for _, from := range []*ratelimit.Limiter{node, other} {
				d := spend(from)
				wantEqual(t, "the outcome before", ratelimit.MinuteSpent, d.Outcome)
				spend(node) // from memory
				if from == other {
					if c.during != nil {
						c.during(w, own)
					}
					w.now += d.RetryAfter * int64(time.Second)
				}
			}
			wantEqual(t, "the outcome after the wait", ratelimit.Allowed, spend(node).Outcome)
		})
	}
}

// Bans follow the counters' clock on every node, even while a node's clock is wrong: Retry-After is the
// same everywhere, and every node allows a request after it.
func TestBansByCountersClock(t *testing.T) {
	charge := ratelimit.Charge{Account: 1, Key: 1, Quota: petcat.Quota{PerMinute: 5, PerDay: 1_000}}
	w := &trueTime{now: noon.Add(30 * time.Second).UnixNano()}
	counts := &slowCounters{counters{clock: w, used: make(map[petcat.AccountID]petcat.QuotaCount)}, w}
	var nodes []*ratelimit.Limiter
	banned := func(b petcat.Ban) {
		for _, node := range nodes {
			node.ApplyBan(b)
		}
	}
	for _, ahead := range []time.Duration{0, 20 * time.Second, -20 * time.Second, time.Hour, -time.Hour} {
		node := ratelimit.New(ratelimit.Options{
			Clock:    &nodeClock{of: w, wall: ahead},
			Counters: counts,
			Logger:   slog.New(slog.DiscardHandler),
			BanMode:  petcat.EnforceBans,
			Banned:   banned,
			SaveBan:  func(context.Context, petcat.Ban) error { return nil },
		})
		defer node.Close()
		nodes = append(nodes, node)
	}
	spend := func(n *ratelimit.Limiter, c ratelimit.Charge) ratelimit.Decision {
		d, err := n.Spend(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, node := range nodes { // any response reports the counters' time
		spend(node, ratelimit.Charge{Account: 2, Key: 2, Quota: plenty})
	}
	for spend(nodes[1], charge).Outcome != ratelimit.Banned {
		w.now += int64(50 * time.Millisecond)
	}
	w.now += int64(10 * time.Second)
	wait := spend(nodes[0], charge).RetryAfter
	for i, node := range nodes {
		d := spend(node, charge)
		wantEqual(t, fmt.Sprint("the outcome on node ", i), ratelimit.Banned, d.Outcome)
		wantEqual(t, fmt.Sprint("Retry-After of node ", i), wait, d.RetryAfter)
	}
	w.now += wait * int64(time.Second)
	for i, node := range nodes {
		wantEqual(t, fmt.Sprint("after the wait, on node ", i), ratelimit.Allowed, spend(node, charge).Outcome)
	}
}
