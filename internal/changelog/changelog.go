// Package changelog follows the store's change log: it hands changes of keys, accounts and
// bans by other processes, such as management commands, to the caches in memory.
//
// It polls: a poll that finds nothing new reads one row. A caller that cannot wait
// for the next poll asks it to catch up; concurrent callers share one poll. While the
// store is unavailable, it does not call [Options.Polled], so that the caches know how
// old their data is. It continues where it stopped when the store is available again.
package changelog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// changes is the part of a store that is followed.
type changes interface {
	Revision(ctx context.Context) (petcat.Revision, error)
	AccessChangesSince(ctx context.Context, after petcat.Revision) (petcat.AccessChange, error)
}

// Options for [Start]. All fields are required but those with a default.
type Options struct {
	Store  changes
	Clock  clock.Clock
	Logger *slog.Logger
	// Interval is the time between two polls: 200 ms by default, so that
	// with a slow read between them a change is seen within a second.
	Interval time.Duration
	// Timeout bounds one poll: 5 s by default.
	Timeout time.Duration
	// Apply is called with every change, in the order of the revisions.
	Apply func(petcat.AccessChange)
	// Polled is called after each successful poll, with the time at which the poll was
	// sent: every change that was committed before has been applied.
	Polled func(asked clock.Reading)
}

// Follower reads the change log. Use [Start].
type Follower struct {
	o       Options
	seen    petcat.Revision
	away    bool
	wake    chan struct{} // has a value while a caller waits for the next poll
	stopped chan struct{} // closed when Run has returned

	mu   sync.Mutex
	next *poll // guarded by mu; the poll that callers of CatchUp wait for; nil if there are none
}

// poll is a poll that is not answered yet, and perhaps not sent.
type poll struct {
	done chan struct{} // closed when its changes have been applied
	err  error         // set before done is closed
}

// pace is the pause after a poll: even if many callers catch up, the store gets at most 200
// polls a second.
const pace = 5 * time.Millisecond

var errStopped = errors.New("the change log is no longer followed")

// Start reads the current revision; only changes after it are handed over. Read the state
// that they change after Start has returned. Then call Run.
func Start(ctx context.Context, o Options) (*Follower, error) {
	if o.Interval == 0 {
		o.Interval = 200 * time.Millisecond
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	revision, err := o.Store.Revision(ctx)
	if err != nil {
		return nil, fmt.Errorf("changelog: read the revision: %w", err)
	}
	return &Follower{o: o, seen: revision, wake: make(chan struct{}, 1), stopped: make(chan struct{})}, nil
}

// Run follows the log until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	defer close(f.stopped)
	ticker := time.NewTicker(f.o.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.wake:
		}
		f.mu.Lock()
		q := f.next
		f.next = nil
		f.mu.Unlock()
		err := f.poll(ctx)
		if q == nil {
			continue
		}
		q.err = err
		close(q.done)
		select {
		case <-ctx.Done():
		case <-time.After(pace):
		}
	}
}

// CatchUp returns nil once everything that was committed before the call has been
// applied: it waits for the answer to a poll that was sent after the call.
func (f *Follower) CatchUp(ctx context.Context) error {
	f.mu.Lock()
	if f.next == nil {
		f.next = &poll{done: make(chan struct{})}
	}
	q := f.next
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default: // a value is already there
	}
	select {
	case <-q.done:
		return q.err
	case <-f.stopped:
		return errStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// poll polls once.
func (f *Follower) poll(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	asked := f.o.Clock.Read()
	change, err := f.o.Store.AccessChangesSince(asking, f.seen)
	if err != nil {
		if !f.away && ctx.Err() == nil {
			f.away = true
			f.o.Logger.ErrorContext(ctx, "the change log cannot be read; retrying", "error", err)
		}
		return err
	}
	if f.away {
		f.away = false
		f.o.Logger.InfoContext(ctx, "the change log can be read again")
	}
	if !change.Empty() {
		f.o.Apply(change)
	}
	f.seen = max(f.seen, change.Revision)
	f.o.Polled(asked)
	return nil
}
