package clusterlimit

import (
	"context"
	"errors"
	"time"

	"petcat/internal/counters"
)

var errNetwork = errors.New("the network lost it")

// reach carries a call to the counters and its answer back, as far as it gets.
func (n *clusterNode) reach(ctx context.Context, do func() error) error {
	c := n.c
	delay := func() (d time.Duration, lost bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		now := time.Now()
		d = time.Duration(100_000 + c.random.Int64N(1_500_000))
		if c.bad.slow.After(now) {
			d += time.Duration(c.random.Int64N(int64(200 * time.Millisecond)))
		}
		lost = n.dead || n.cutUntil.After(now) || c.bad.down.After(now) || c.bad.lossy.After(now) && c.random.Float64() < c.bad.part
		return d, lost
	}
	var err error
	c.mu.Lock()
	twice := c.bad.doubled.After(time.Now()) && c.random.Float64() < c.bad.twice
	c.mu.Unlock()
	carry := func() error {
		if twice {
			_ = do()
		}
		return do()
	}
	for _, way := range []func() error{carry, func() error { return err }} {
		d, lost := delay()
		if lost {
			<-ctx.Done()
			return errNetwork
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return errNetwork
		}
		err = way()
	}
	return err
}

func (n *clusterNode) Partitions() int { return 1 }

func (n *clusterNode) Probe(ctx context.Context, p int) (e counters.Epoch, now int64, err error) {
	err = n.reach(ctx, func() (err error) { e, now, err = n.c.counters.Probe(ctx, p); return err })
	return e, now, err
}

func (n *clusterNode) Charge(ctx context.Context, p int, e counters.Epoch, charges []counters.Charge) (facts []counters.Facts, err error) {
	err = n.reach(ctx, func() (err error) { facts, err = n.c.counters.Charge(ctx, p, e, charges); return err })
	return facts, err
}

func (n *clusterNode) Grant(ctx context.Context, p int, e counters.Epoch, grants []counters.Grant) error {
	return n.reach(ctx, func() error { return n.c.counters.Grant(ctx, p, e, grants) })
}

func (n *clusterNode) ShareRetries(ctx context.Context, p int, node string, keys []counters.KeyRetries) (elsewhere []int64, err error) {
	err = n.reach(ctx, func() (err error) { elsewhere, err = n.c.counters.ShareRetries(ctx, p, node, keys); return err })
	return elsewhere, err
}
