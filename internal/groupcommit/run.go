package groupcommit

import (
	"errors"
	"runtime"
)

// poison marks an error after which nothing more may be written.
type poison struct{ error }

func (p *poison) Unwrap() error { return p.error }

// Poison marks an error of a commit function as one after which nothing more
// may be written, such as a failed fsync: the kernel then drops what it could
// not write and reports success the next time, so a retry would report a commit that
// never reached the disk.
func Poison(err error) error { return &poison{err} }

// run is a goroutine of the committer.
func (c *Committer[Op]) run() {
	group := make([]*waiter[Op], 0, c.options.MaxGroup)
	ops := make([]Op, 0, c.options.MaxGroup)
	for {
		var ok bool
		if group, ok = c.take(group); !ok {
			return
		}
		if timely := c.expire(group); len(timely) > 0 {
			c.commit(timely, ops)
		}
		clear(group)
		c.mu.Lock()
		c.underway--
		c.mu.Unlock()
	}
}

// ripe reports whether a group may be taken from the queue. The caller holds mu.
func (c *Committer[Op]) ripe() bool {
	return !c.gathering && len(c.queue) > 0 && c.underway < c.options.Concurrent
}

// take waits for operations and moves as many as make a group from the front of
// the queue into group; ok is false when the committer is closed and everything
// was answered.
func (c *Committer[Op]) take(group []*waiter[Op]) (taken []*waiter[Op], ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.ripe() {
		if c.closed && len(c.queue) == 0 {
			return nil, false
		}
		c.wake.Wait()
	}
	c.underway++
	c.gather()
	group = group[:cap(group)]
	taken = group[:copy(group, c.queue)]
	for _, w := range taken {
		c.leave(w.owner)
	}
	left := copy(c.queue, c.queue[len(taken):])
	clear(c.queue[left:])
	c.queue = c.queue[:left]
	switch {
	case c.closed:
		c.wake.Broadcast() // goroutines that wait for a group can end
	case left > 0:
		c.wake.Signal()
	}
	return taken, true
}

// leave notes that an owner's operation is no longer in the queue. The caller
// holds mu.
func (c *Committer[Op]) leave(owner uint64) {
	if owner == 0 {
		return
	}
	if c.owned[owner]--; c.owned[owner] == 0 {
		delete(c.owned, owner)
	}
}

// gather makes groups larger on a busy machine: it yields the processor, so that
// goroutines that are about to submit an operation do so first. On an idle machine there
// are none, and it returns at once. Meanwhile the committer's other goroutines take
// nothing from the queue. The caller holds mu.
func (c *Committer[Op]) gather() {
	c.gathering = true
	c.mu.Unlock()
	runtime.Gosched()
	c.mu.Lock()
	c.gathering = false
}

// expire answers the operations of a group that have waited too long, and returns
// the others, at the front of the group.
func (c *Committer[Op]) expire(group []*waiter[Op]) (timely []*waiter[Op]) {
	if c.options.Expired == nil {
		return group
	}
	now := c.options.Clock.Read()
	timely = group[:0]
	for _, w := range group {
		if err := c.options.Expired(w.op, now); err != nil {
			w.result <- err
			continue
		}
		timely = append(timely, w)
	}
	return timely
}

// commit commits one group and answers it.
func (c *Committer[Op]) commit(group []*waiter[Op], ops []Op) {
	err := c.Err()
	if err != nil {
		err = stopped(err)
	} else {
		err = c.attempt(group, ops)
	}
	for _, w := range group {
		w.result <- err
	}
}

// stopFor stops the committer for good.
func (c *Committer[Op]) stopFor(failure error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = failure
		close(c.failed)
	}
}

// attempt calls the commit function and stops the committer when it must.
func (c *Committer[Op]) attempt(group []*waiter[Op], ops []Op) error {
	for _, w := range group {
		ops = append(ops, w.op)
	}
	start := c.options.Clock.Read()
	err := c.options.Commit(ops)
	took := c.options.Clock.Read().Since(start)
	if c.options.Observe != nil {
		c.options.Observe(len(ops), took)
	}
	clear(ops)
	if p, ok := errors.AsType[*poison](err); ok {
		c.stopFor(p.error)
		return p.error
	}
	return err
}
