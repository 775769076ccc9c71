package redislimit

import (
	"context"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

const (
	// leasePatience is how long a request waits for the day store before it goes
	// on without, as in package ratelimit.
	leasePatience = 2 * time.Second
	// A block that another node leases is looked for after 1 ms, about what a
	// lease takes, and then after twice as long each time, up to 16 ms.
	firstLook, lastLook = time.Millisecond, 16 * time.Millisecond
)

// wait is a request's wait for a block of its account's day.
type wait struct {
	leaser   *leaser
	charge   ratelimit.Charge
	patience *time.Timer // nil until it waits
	look     time.Duration
	overdue  bool
}

func (w *wait) end() {
	if w.patience != nil {
		w.patience.Stop()
	}
}

// forBlock waits until it makes sense to charge again. The error says why it
// cannot be known how much is left, or is errLate: the server keeps the leaser
// waiting for longer than a command may take.
func (w *wait) forBlock(ctx context.Context, f facts) error {
	if f.code == codeUnknown {
		if out := w.leaser.away.Load(); out != nil && out.blind {
			return out.err
		}
		if w.overdue {
			return errStore
		}
	}
	if w.patience == nil {
		w.patience = time.NewTimer(leasePatience)
		w.look = firstLook
	}
	done, err := w.leaser.join(w.charge.Account)
	if err != nil {
		return err
	}
	if done == nil {
		timer := time.NewTimer(w.look)
		defer timer.Stop()
		w.look = min(2*w.look, lastLook)
		select {
		case <-timer.C:
			return nil
		case <-w.patience.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	} else {
		select {
		case <-done:
			return w.leaser.heldUp()
		case <-w.patience.C:
			w.leaser.setAway(&outage{err: errStore, blind: true})
			w.leaser.poke()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.overdue = true
	return nil
}

// join makes a request one of those that wait for this node's lease. It returns
// nil when this node leases nothing for the account, and errLate when they are not
// to wait.
func (le *leaser) join(id petcat.AccountID) (<-chan struct{}, error) {
	le.mu.Lock()
	defer le.mu.Unlock()
	j := le.jobs[id]
	if j == nil {
		return nil, nil
	}
	if le.held {
		return nil, errLate
	}
	if j.done == nil {
		j.done = make(chan struct{})
	}
	j.waiters++
	return j.done, nil
}
