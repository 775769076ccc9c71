// Package groupcommit turns many concurrent writes into few transactions: a goroutine takes all
// queued operations, commits them as one group, and returns the result to their callers. So a disk that syncs
// 8,000 times per second makes many times as many writes durable. There is no artificial delay:
// a group consists of the operations that arrived during the previous commit.
//
// When the queue is full, it rejects operations immediately ([ErrFull]). If operations have
// owners, one owner cannot fill more than half of the queue. See [Line]. It does not depend on a
// database; the caller translates its errors.
package groupcommit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/petcat-api/petcat/internal/clock"
)

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
	// is for a commit that is a call to a distant server. Groups may then finish in any order.
	Overtake time.Duration
	// Owner, if not nil, returns the owner of an operation, 0 if there is none. An owner may fill
	// half of the queue.
	Owner func(op Op) uint64
	Clock clock.Clock
	// Observe, if not nil, is called with the size of each group and the duration of its commit,
	// even if it failed.
	Observe func(group int, d time.Duration)
	// Line bounds the queue. Other writes may also wait in it.
	Line     *Line
	MaxGroup int // 0: DefaultMaxGroup
}

// Committer commits operations in groups. It is safe for concurrent use.
type Committer[Op any] struct {
	options Options[Op]
	queue   chan *waiter[Op] // closed under mu
	next    chan struct{}    // contains a value until the next group may begin
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool // guarded by mu
}

// waiter is one call of Submit.
type waiter[Op any] struct {
	op     Op
	owner  uint64
	result chan error // buffered, because the caller may have stopped waiting
}

// New starts a Committer. Close stops it.
func New[Op any](o Options[Op]) *Committer[Op] {
	o.MaxGroup = cmp.Or(o.MaxGroup, DefaultMaxGroup)
	if o.Owner == nil {
		o.Owner = func(Op) uint64 { return 0 }
	}
	c := &Committer[Op]{
		options: o,
		queue:   make(chan *waiter[Op], o.Line.length),
		next:    make(chan struct{}, 1),
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
	// ErrAbandoned: the caller stopped waiting, and the operation may still be committed.
	ErrAbandoned = errors.New("the caller stopped waiting for the outcome")
)

// Submit waits until the operation's group is committed, and returns the error of the group or of
// the committer.
//
// If the context is canceled, it returns [ErrAbandoned] with the cause. The operation stays in its group
// and may still be committed; only the commit function may use it from then on.
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
	if c.closed {
		return ErrClosed
	}
	if err := c.options.Line.Join(w.owner); err != nil {
		return err
	}
	c.queue <- w // there is room: the line is not longer
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
	for _, w := range group {
		c.options.Line.Leave(w.owner)
	}
	return group
}

// expire fails the expired operations of a group, and returns the other ones.
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

// commit commits one group.
func (c *Committer[Op]) commit(group []*waiter[Op]) error {
	ops := make([]Op, len(group))
	for i, w := range group {
		ops[i] = w.op
	}
	start := c.options.Clock.Read()
	err := c.options.Commit(ops)
	if c.options.Observe != nil {
		c.options.Observe(len(ops), c.options.Clock.Read().Since(start))
	}
	return err
}

// Close commits the queued operations, rejects new ones, and stops the goroutines. It may
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
