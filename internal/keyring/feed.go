package keyring

import (
	"context"
	"sync"
	"time"

	"github.com/petcat-api/petcat"
)

const (
	// interval is the time between polls, so that changes are applied within a second even if
	// a poll is slow. A poll without changes reads one row.
	interval = 200 * time.Millisecond
	// timeout is the timeout of a poll, patience the maximum time that a caller waits for one.
	timeout  = 5 * time.Second
	patience = time.Second
)

// feed is the state of the polls.
type feed struct {
	seen   petcat.Revision // last applied revision; used by Load and run
	failed bool            // the last poll failed; used by run
	wake   chan struct{}   // holds a value while CatchUp waits for the next poll

	mu   sync.Mutex
	next chan struct{} // closed after the next poll; nil without Run; guarded by mu
}

// Follow returns a function that applies changes until its context is canceled. Call it in the background:
// from now on, callers of CatchUp wait for it.
func (k *Keyring) Follow() func(context.Context) {
	k.feed.replace(make(chan struct{}))
	return k.run
}

func (k *Keyring) run(ctx context.Context) {
	f := &k.feed
	defer func() { close(f.replace(nil)) }()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.wake:
		}
		next := f.replace(make(chan struct{}))
		k.Poll(ctx)
		close(next)
	}
}

// replace sets the channel of the next poll, and returns the one before.
func (f *feed) replace(next chan struct{}) (before chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.next = f.next, next
	return before
}

// upcoming returns a channel that is closed after the next poll, which applies all changes committed
// before the call. It returns nil if there is no next poll.
func (f *feed) upcoming() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

// await waits for a poll, for up to a second.
func await(ctx context.Context, poll <-chan struct{}) {
	if poll == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-poll:
	case <-ctx.Done():
	}
}

// CatchUp applies all changes committed before the call. It waits up to a second; a later poll
// applies the changes if the store takes longer.
func (k *Keyring) CatchUp(ctx context.Context) {
	next := k.feed.upcoming()
	select {
	case k.feed.wake <- struct{}{}: // starts the poll
	default: // a value is already there
	}
	await(ctx, next)
}

// Poll reads the changes of the store once and applies them. run calls it periodically.
func (k *Keyring) Poll(ctx context.Context) {
	f := &k.feed
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	asked := k.o.Clock.Read()
	change, err := k.o.Store.AccessChangesSince(asking, f.seen)
	if err != nil {
		if !f.failed && ctx.Err() == nil {
			f.failed = true
			k.o.Logger.ErrorContext(ctx, "reading access changes failed; retrying", "error", err)
		}
		return
	}
	if f.failed {
		f.failed = false
		k.o.Logger.InfoContext(ctx, "reading access changes succeeded again")
	}
	k.apply(change)
	f.seen = max(f.seen, change.Revision)
	k.readAt.Store(asked.Mono)
}
