// Package groupcommit turns many concurrent writes into few transactions: a
// goroutine takes whatever is waiting, commits it as one group, and answers
// everybody. A disk that syncs 8,000 times a second then makes many times as many
// writes durable, and a single writer waits for nobody, because there is no
// artificial delay: a group is what arrived while the last one was committed.
//
// When the queue is full, it refuses immediately ([ErrFull]). If operations have
// owners, one owner cannot fill more than half of it. It knows nothing of databases, nor of
// what is written: the caller translates its errors. When its commit function
// reports a failure after which nothing more may be written (see [Poison]), it stops
// permanently: all queued and new operations fail immediately.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"petcat/internal/clock"
)

// DefaultQueue is how many writes may wait. At 40,000 writes a second it is a
// tenth of a second's worth: more would only be answered too late.
const DefaultQueue = 4096

// DefaultMaxGroup is the largest group. Beyond 256 the throughput hardly grows,
// and the first of a group waits longer and longer for the last.
const DefaultMaxGroup = 256

// Options says how a Committer works.
type Options[Op any] struct {
	// Commit makes a group durable. The results of single operations belong into
	// the operations; an error is the result of all of them. The slice is reused
	// once Commit has returned.
	Commit func(group []Op) error
	// Expired, when set, is called for each operation when its turn comes. It returns an
	// error if the operation has waited too long. The operation is then answered at once
	// with that error, and is not part of the group.
	Expired func(op Op, now clock.Reading) error
	// Concurrent is how many groups may be under way at once; 0: one. More help where
	// a commit is a call to a distant server. Groups may then end in any order.
	Concurrent int
	// Owner, when set, returns the owner of an operation; 0 means none. An owner may have no
	// more than half of the queue.
	Owner func(op Op) uint64
	Clock clock.Clock
	// Observe, when set, is called with the size of each group and how long its commit
	// took, even if it failed.
	Observe  func(group int, d time.Duration)
	Queue    int // 0: DefaultQueue
	MaxGroup int // 0: DefaultMaxGroup
}

// Committer commits operations in groups. It is safe for concurrent use.
type Committer[Op any] struct {
	options Options[Op]
	waiters sync.Pool // of *waiter[Op]
	failed  chan struct{}
	running sync.WaitGroup

	mu        sync.Mutex
	wake      sync.Cond      // the queue is no longer empty, or closed changed
	queue     []*waiter[Op]  // guarded by mu; in the order of arrival
	owned     map[uint64]int // guarded by mu; operations in the queue, by owner
	shed      uint64         // guarded by mu; operations refused so far because too many waited
	closed    bool           // guarded by mu
	gathering bool           // guarded by mu; one of the goroutines is about to take the queue
	underway  int            // guarded by mu; groups that were taken and not answered yet
	failure   error          // guarded by mu; set once, before failed is closed
}

// waiter is one call of Submit.
type waiter[Op any] struct {
	op    Op
	owner uint64
	// result holds one value and gets exactly one for each use, so that the
	// committer never waits for a caller that went away.
	result chan error
}

// New starts a Committer. Close ends it.
func New[Op any](o Options[Op]) *Committer[Op] {
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.MaxGroup == 0 {
		o.MaxGroup = DefaultMaxGroup
	}
	o.Concurrent = max(1, o.Concurrent)
	c := &Committer[Op]{options: o, failed: make(chan struct{}), owned: make(map[uint64]int)}
	c.wake.L = &c.mu
	c.waiters.New = func() any { return &waiter[Op]{result: make(chan error, 1)} }
	for range o.Concurrent {
		c.running.Go(c.run)
	}
	return c
}

// The errors of a Committer itself; [Refused] tells those apart after which nothing
// happened.
var (
	// ErrFull: too many operations wait.
	ErrFull = errors.New("the queue is full")
	// ErrClosed: the committer takes no more operations.
	ErrClosed = errors.New("the committer is closed")
	// ErrStopped: the committer stopped for good before the operation's turn came.
	ErrStopped = errors.New("the committer has stopped for good")
	// ErrAbandoned: the caller did not wait, and the operation may still be committed.
	ErrAbandoned = errors.New("the outcome was not waited for")
)

// Refused reports whether an error of Submit says that the operation was never handed to the
// commit function, so that it had no effect.
func Refused(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, ErrClosed) || errors.Is(err, ErrStopped)
}

// Submit waits until the operation's group is committed and returns the group's
// error, or one of the committer's own.
//
// A caller whose context ends does not wait any longer and gets [ErrAbandoned] with
// the context's cause, but the operation stays in its group and may still be
// committed: nobody but the commit function may touch it from then on.
func (c *Committer[Op]) Submit(ctx context.Context, op Op) error {
	w := c.waiters.Get().(*waiter[Op])
	w.op = op
	if c.options.Owner != nil {
		w.owner = c.options.Owner(op)
	}
	if err := c.enqueue(w); err != nil {
		c.recycle(w)
		return err
	}
	select {
	case err := <-w.result:
		c.recycle(w)
		return err
	case <-ctx.Done():
		// The waiter is not recycled: its result is still to come.
		return fmt.Errorf("%w: %w", ErrAbandoned, context.Cause(ctx))
	}
}

func (c *Committer[Op]) recycle(w *waiter[Op]) {
	var none Op
	w.op, w.owner = none, 0
	c.waiters.Put(w)
}

func (c *Committer[Op]) enqueue(w *waiter[Op]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.failure != nil:
		return stopped(c.failure)
	case c.closed:
		return ErrClosed
	case c.full(w.owner):
		c.shed++
		return ErrFull
	}
	c.queue = append(c.queue, w)
	if w.owner != 0 {
		c.owned[w.owner]++
	}
	// A goroutine that ends a group looks for the next one by itself.
	if len(c.queue) == 1 && c.ripe() {
		c.wake.Signal()
	}
	return nil
}

// full reports whether there is no room for one more of an owner. The caller holds
// mu.
func (c *Committer[Op]) full(owner uint64) bool {
	return len(c.queue) >= c.options.Queue || owner != 0 && c.owned[owner] >= (c.options.Queue+1)/2
}

// stopped returns the error of operations after the committer has stopped for good.
func stopped(failure error) error {
	return fmt.Errorf("%w: %v", ErrStopped, failure) //nolint:errorlint // what is unknown of others is known of these
}

// Waiting returns how many operations are in the queue.
func (c *Committer[Op]) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// Shed returns how many operations were refused so far because too many waited.
func (c *Committer[Op]) Shed() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shed
}

// Failed is closed when the committer stopped for good; Err then says why.
func (c *Committer[Op]) Failed() <-chan struct{} { return c.failed }

// Err returns why the committer stopped for good, nil while it has not.
func (c *Committer[Op]) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Close takes no more operations, waits until those in the queue are committed
// and answered, and ends its goroutines. Closing twice is allowed.
func (c *Committer[Op]) Close() {
	c.mu.Lock()
	c.closed = true
	c.wake.Broadcast()
	c.mu.Unlock()
	c.running.Wait()
}
