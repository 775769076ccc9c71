// Package changelog follows the store's change log for what other processes do
// to keys, accounts and bans, such as an operator's command line, and hands it
// to those who keep such things in memory.
//
// It polls: a question that finds nothing new is one read of one row. It
// refuses to guess: when the store cannot be read, nothing is handed over and
// [Options.Heard] is not called, so that whoever trusts it knows how old its
// knowledge is. It begins where it left off when the store is back.
package changelog

import (
	"context"
	"fmt"
	"log/slog"
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
	o    Options
	seen petcat.Revision
	away bool
}

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
	return &Follower{o: o, seen: revision}, nil
}

// Run follows the log until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	ticker := time.NewTicker(f.o.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.poll(ctx)
		}
	}
}

func (f *Follower) poll(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	asked := f.o.Clock.Read()
	change, err := f.o.Store.AccessChangesSince(asking, f.seen)
	if err != nil {
		if !f.away && ctx.Err() == nil {
			f.away = true
			f.o.Logger.ErrorContext(ctx, "the change log cannot be read; trying again", "error", err)
		}
		return
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
}
