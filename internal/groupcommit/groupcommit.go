// Package groupcommit turns many concurrent writes into few transactions: a goroutine takes all
// queued operations, commits them as one group, and answers their callers. So a disk that syncs
// 8,000 times a second makes many times as many writes durable. There is no artificial delay:
// a group consists of the operations that arrived during the previous commit.
//
// When the queue is full, it refuses operations immediately ([ErrFull]). If operations have
// owners, one owner cannot fill more than half of the queue. After a failure that makes further
// writes unsafe (see [Poison]), it stops for good: all queued and new operations fail immediately.
// It does not depend on a database; the caller translates its errors.
package groupcommit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"petcat/internal/clock"
)

// DefaultQueue is the maximum length of the queue. At 40,000 writes a second these are the writes
// of a tenth of a second; more would wait too long.
const DefaultQueue = 4096

// DefaultMaxGroup is the maximum size of a group. Larger groups hardly raise the throughput, and
// take longer.
const DefaultMaxGroup = 256

// Options are the options of a Committer.
type Options[Op any] struct {
	// Commit makes a group durable. Its error is the result of all operations of the group; Op
	// has the result of a single one.
	Commit func(group []Op) error
	// Expired, if not nil, is called for each operation before its group is committed. If the
	// operation has waited too long, it returns the result; the operation is then not part of
	// the group.
	Expired func(op Op, now clock.Reading) error
	// Overtake, if not 0, is the time after which a second group may begin during a commit. It
	// is for a commit that is a call to a distant server. Groups may then end in any order.
	Overtake time.Duration
	// Owner, if not nil, returns the owner of an operation, 0 if there is none. An owner may fill
	// half of the queue.
	Owner func(op Op) uint64
	Clock clock.Clock
	// Observe, if not nil, is called with the size of each group and the duration of its commit,
	// even if it failed.
	Observe  func(group int, d time.Duration)
	Queue    int // 0: DefaultQueue
	MaxGroup int // 0: DefaultMaxGroup
}

// Committer commits operations in groups. It is safe for concurrent use.
type Committer[Op any] struct {
	options Options[Op]
	queue   chan *waiter[Op] // closed under mu
	next    chan struct{}    // contains a value until the next group may begin
	failed  chan struct{}
	running sync.WaitGroup

	mu      sync.Mutex
	owned   map[uint64]int // guarded by mu; number of queued operations by owner
	shed    uint64         // guarded by mu; operations refused so far with ErrFull
	closed  bool           // guarded by mu
	failure error          // guarded by mu; set once, before failed is closed
}

// waiter is one call of Enqueue.
type waiter[Op any] struct {
	op     Op
	owner  uint64
	result chan error // has room for the result, because the caller may have left
}

// New starts a Committer. Close ends it.
func New[Op any](o Options[Op]) *Committer[Op] {
	o.Queue, o.MaxGroup = cmp.Or(o.Queue, DefaultQueue), cmp.Or(o.MaxGroup, DefaultMaxGroup)
	if o.Owner == nil {
		o.Owner = func(Op) uint64 { return 0 }
	}
	c := &Committer[Op]{
		options: o, queue: make(chan *waiter[Op], o.Queue), next: make(chan struct{}, 1),
		failed: make(chan struct{}), owned: make(map[uint64]int),
	}
	c.running.Go(c.run)
	if o.Overtake > 0 {
		c.running.Go(c.run)
	}
	return c
}

// The errors of a Committer. Except after ErrAbandoned, the operation had no effect.
var (
	// ErrFull: the queue is full.
	ErrFull = errors.New("the queue is full")
	// ErrClosed: the committer is closed.
	ErrClosed = errors.New("the committer is closed")
	// ErrStopped: the committer stopped for good before it committed the operation.
	ErrStopped = errors.New("the committer has stopped for good")
	// ErrAbandoned: the caller stopped waiting, and the operation may still be committed.
	ErrAbandoned = errors.New("the caller stopped waiting for the outcome")
)

// poison is an error after which nothing more may be written.
type poison struct{ error }

// Poison marks an error of a commit function after which nothing more may be written, such as a
// failed fsync: the kernel drops the pages that it could not write and reports success the next
// time, so a retry would report a commit that never reached the disk.
func Poison(err error) error { return &poison{err} }

// Submit is [Committer.Enqueue] and [Wait].
func (c *Committer[Op]) Submit(ctx context.Context, op Op) error {
	result, err := c.Enqueue(op)
	if err != nil {
		return err
	}
	return Wait(ctx, result)
}

// Enqueue queues an operation. The channel gets the error of its group or of the committer.
func (c *Committer[Op]) Enqueue(op Op) (result <-chan error, err error) {
	w := &waiter[Op]{op: op, owner: c.options.Owner(op), result: make(chan error, 1)}
	return w.result, c.enqueue(w)
}

// Wait waits until an operation's group is committed, and returns the error of the group or of the
// committer.
//
// If the context ends, it returns [ErrAbandoned] with the cause. The operation stays in its group
// and may still be committed; only the commit function may use it from then on.
func Wait(ctx context.Context, result <-chan error) error {
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrAbandoned, context.Cause(ctx))
	}
}

func (c *Committer[Op]) enqueue(w *waiter[Op]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.failure != nil:
		return fmt.Errorf("%w: %v", ErrStopped, c.failure) //nolint:errorlint // this operation has no unknown outcome
	case c.closed:
		return ErrClosed
	case len(c.queue) == cap(c.queue), w.owner != 0 && c.owned[w.owner] >= (cap(c.queue)+1)/2:
		c.shed++
		return ErrFull
	}
	c.owned[w.owner]++
	c.queue <- w // there is room, because all senders hold mu
	return nil
}

// run commits groups until the queue is closed and empty.
func (c *Committer[Op]) run() {
	for c.runNext() {
	}
}

// runNext commits the next group, and reports whether there was one.
func (c *Committer[Op]) runNext() bool {
	c.next <- struct{}{}
	pass := sync.OnceFunc(func() { <-c.next })
	defer pass()
	group := c.take()
	if group == nil {
		return false
	}
	if c.options.Overtake > 0 {
		defer time.AfterFunc(c.options.Overtake, pass).Stop()
	}
	if group = c.expire(group); len(group) > 0 {
		err := c.commit(group)
		for _, w := range group {
			w.result <- err
		}
	}
	return true
}

// take waits for operations and returns a group, or nil if the queue is closed and empty.
func (c *Committer[Op]) take() (group []*waiter[Op]) {
	first, open := <-c.queue
	if !open {
		return nil
	}
	// Let goroutines run that are about to submit: the group becomes larger on a busy machine.
	runtime.Gosched()
	group = append(group, first)
	for range min(len(c.queue), c.options.MaxGroup-1) {
		group = append(group, <-c.queue)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range group {
		if c.owned[w.owner]--; c.owned[w.owner] == 0 {
			delete(c.owned, w.owner)
		}
	}
	return group
}

// expire answers the expired operations of a group, and returns the other ones.
func (c *Committer[Op]) expire(group []*waiter[Op]) (timely []*waiter[Op]) {
	if c.options.Expired == nil {
		return group
	}
	now := c.options.Clock.Read()
	for _, w := range group {
		if err := c.options.Expired(w.op, now); err != nil {
			w.result <- err
			continue
		}
		timely = append(timely, w)
	}
	return timely
}

// commit commits one group, and stops the committer after a poison.
func (c *Committer[Op]) commit(group []*waiter[Op]) error {
	if failure := c.Err(); failure != nil {
		return fmt.Errorf("%w: %v", ErrStopped, failure) //nolint:errorlint // these operations have no unknown outcome
	}
	ops := make([]Op, len(group))
	for i, w := range group {
		ops[i] = w.op
	}
	start := c.options.Clock.Read()
	err := c.options.Commit(ops)
	if c.options.Observe != nil {
		c.options.Observe(len(ops), c.options.Clock.Read().Since(start))
	}
	fatal, ok := errors.AsType[*poison](err)
	if !ok {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = fatal.error
		close(c.failed)
	}
	return fatal.error
}

// Waiting returns the number of queued operations.
func (c *Committer[Op]) Waiting() int { return len(c.queue) }

// Shed returns the number of operations that were refused so far with [ErrFull].
func (c *Committer[Op]) Shed() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shed
}

// Failed is closed when the committer stops for good; Err then returns the reason.
func (c *Committer[Op]) Failed() <-chan struct{} { return c.failed }

// Err returns the failure after which the committer stopped for good, or nil.
func (c *Committer[Op]) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Close commits and answers the queued operations, refuses new ones, and ends the goroutines. It may
// be called twice.
func (c *Committer[Op]) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.queue)
	}
	c.mu.Unlock()
	c.running.Wait()
}
