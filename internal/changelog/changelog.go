// Package changelog follows the store's change log for what other processes do
// to keys, accounts and bans, such as an operator's command line, and hands it
// to those who keep such things in memory.
//
// It polls: a question that finds nothing new is one read of one row. Who cannot
// wait for the next asks it to catch up; all who do so at a time share one
// question. It refuses to guess: when the store cannot be read, nothing is handed over and
// [Options.Heard] is not called, so that whoever trusts it knows how old its
// knowledge is. It begins where it left off when the store is back.
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
	// Interval is the time between two questions: 200 ms by default, so that
	// with a slow read between them a change is seen within a second.
	Interval time.Duration
	// Timeout bounds one question: 5 s by default.
	Timeout time.Duration
	// Apply is called with every change, in the order of the revisions.
	Apply func(petcat.AccessChange)
	// Heard is called after each successful question, with the moment at which
	// it was asked: everything before that moment has been applied.
	Heard func(asked clock.Reading)
}

// Follower reads the change log. Use [Start].
type Follower struct {
	o       Options
	seen    petcat.Revision
	away    bool
	wake    chan struct{} // somebody waits for the next question
	stopped chan struct{} // closed when Run has returned

	mu   sync.Mutex
	next *question // guarded by mu; what those who catch up wait for; nil: none does
}

// question is one that is yet to be sent, or under way.
type question struct {
	done chan struct{} // closed when what it brought has been applied
	err  error         // set before done is closed
}

// pace is the pause after a question: a flood of callers who cannot wait costs
// the store at most 200 questions a second.
const pace = 5 * time.Millisecond

var errStopped = errors.New("the change log is no longer followed")

// Start reads where the log stands. What changed before is not handed over:
// nobody has read the older state yet. Then call Run.
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
// applied: it waits for the answer to a question that was sent after the call.
func (f *Follower) CatchUp(ctx context.Context) error {
	f.mu.Lock()
	if f.next == nil {
		f.next = &question{done: make(chan struct{})}
	}
	q := f.next
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default: // it is awake
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

// poll asks once.
func (f *Follower) poll(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	asked := f.o.Clock.Read()
	change, err := f.o.Store.AccessChangesSince(asking, f.seen)
	if err != nil {
		if !f.away && ctx.Err() == nil {
			f.away = true
			f.o.Logger.ErrorContext(ctx, "the change log cannot be read; trying again", "error", err)
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
	f.o.Heard(asked)
	return nil
}
