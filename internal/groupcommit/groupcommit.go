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
	"runtime"
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
	// the operations; an error is the result of all of them.
	Commit func(group []Op) error
	// Expired, when set, is called for each operation before it runs. It returns an
	// error if the operation has waited too long. The operation is then answered at once
	// with that error, and is not part of the group.
	Expired func(op Op, now clock.Reading) error
	// Overtake is how long a group may be under way until another one may begin, if it has
	// not ended by then; 0: only one is under way. It helps where a commit is a call to a
	// server that is distant or hangs. Groups may then end in any order.
	Overtake time.Duration
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
	queue   chan *waiter[Op] // closed under mu
	turn    chan struct{}    // holds a value until the next group may begin
	failed  chan struct{}
	running sync.WaitGroup

	mu      sync.Mutex
	owned   map[uint64]int // guarded by mu; operations in the queue, by owner
	shed    uint64         // guarded by mu; operations refused so far because too many waited
	closed  bool           // guarded by mu
	failure error          // guarded by mu; set once, before failed is closed
}

// waiter is one call of Submit.
type waiter[Op any] struct {
	op     Op
	owner  uint64
	result chan error // has room for the one result: nobody waits for a caller that went away
}

// New starts a Committer. Close ends it.
func New[Op any](o Options[Op]) *Committer[Op] {
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.MaxGroup == 0 {
		o.MaxGroup = DefaultMaxGroup
	}
	if o.Owner == nil {
		o.Owner = func(Op) uint64 { return 0 }
	}
	c := &Committer[Op]{
		options: o, queue: make(chan *waiter[Op], o.Queue), turn: make(chan struct{}, 1),
		failed: make(chan struct{}), owned: make(map[uint64]int),
	}
	c.running.Go(c.run)
	if o.Overtake > 0 {
		c.running.Go(c.run)
	}
	return c
}

// The errors of a Committer itself. After all but the last, the operation had no effect.
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

// poison marks an error after which nothing more may be written.
type poison struct{ error }

// Poison marks an error of a commit function as one after which nothing more
// may be written, such as a failed fsync: the kernel then drops what it could
// not write and reports success the next time, so a retry would report a commit that
// never reached the disk.
func Poison(err error) error { return &poison{err} }

// Submit waits until the operation's group is committed and returns the group's
// error, or one of the committer's own.
//
// A caller whose context ends does not wait any longer and gets [ErrAbandoned] with
// the context's cause, but the operation stays in its group and may still be
// committed: nobody but the commit function may touch it from then on.
func (c *Committer[Op]) Submit(ctx context.Context, op Op) error {
	w := &waiter[Op]{op: op, owner: c.options.Owner(op), result: make(chan error, 1)}
	if err := c.enqueue(w); err != nil {
		return err
	}
	select {
	case err := <-w.result:
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
		// What is unknown of others is known of this one.
		return fmt.Errorf("%w: %v", ErrStopped, c.failure) //nolint:errorlint // without its chain
	case c.closed:
		return ErrClosed
	case len(c.queue) == cap(c.queue), w.owner != 0 && c.owned[w.owner] >= (cap(c.queue)+1)/2:
		c.shed++
		return ErrFull
	}
	c.owned[w.owner]++
	c.queue <- w // there is room, and nobody else adds to it
	return nil
}

// run commits one group after the other, until the queue is closed and empty.
func (c *Committer[Op]) run() {
	for c.next() {
	}
}

// next commits a group, and reports whether there was one. Those who arrive while it is under
// way share the next one.
func (c *Committer[Op]) next() bool {
	c.turn <- struct{}{}
	pass := sync.OnceFunc(func() { <-c.turn })
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

// take waits for operations and returns as many as make a group; nil: there are no more.
func (c *Committer[Op]) take() (group []*waiter[Op]) {
	first, open := <-c.queue
	if !open {
		return nil
	}
	// On a busy machine, goroutines that are about to submit do so first.
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

// expire answers the operations of a group that have waited too long, and returns
// the others.
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

// commit commits one group, and stops the committer when it must.
func (c *Committer[Op]) commit(group []*waiter[Op]) error {
	if failure := c.Err(); failure != nil {
		return fmt.Errorf("%w: %v", ErrStopped, failure) //nolint:errorlint // without its chain
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

// Waiting returns how many operations are in the queue.
func (c *Committer[Op]) Waiting() int { return len(c.queue) }

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
	if !c.closed {
		c.closed = true
		close(c.queue)
	}
	c.mu.Unlock()
	c.running.Wait()
}
