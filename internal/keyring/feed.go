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
	seen   petcat.Revision // last applied revision; used by Load and Run
	failed bool            // the last poll failed; used by Run
	wake   chan struct{}   // holds a value while CatchUp waits for the next poll

	mu      sync.Mutex
	running bool          // guarded by mu
	next    chan struct{} // guarded by mu; closed after the next poll
}

// Run applies changes until ctx ends.
func (k *Keyring) Run(ctx context.Context) {
	f := &k.feed
	f.take(true)
	defer func() { close(f.take(false)) }()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.wake:
		}
		waiting := f.take(true)
		k.Poll(ctx)
		close(waiting)
	}
}

// take returns the channel that callers of await wait for, and sets whether polls continue.
func (f *feed) take(running bool) (waiting chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	waiting, f.next, f.running = f.next, make(chan struct{}), running
	return waiting
}

// await waits until all changes committed before the call are applied, for up to a second. If now
// is true, it starts the next poll immediately.
func (f *feed) await(ctx context.Context, now bool) {
	f.mu.Lock()
	if !f.running {
		f.mu.Unlock()
		return
	}
	next := f.next
	f.mu.Unlock()
	if now {
		select {
		case f.wake <- struct{}{}:
		default: // a value is already there
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-next:
	case <-ctx.Done():
	}
}

// CatchUp applies all changes committed before the call. It waits up to a second; a later poll
// applies the changes if the store takes longer.
func (k *Keyring) CatchUp(ctx context.Context) { k.feed.await(ctx, true) }

// Poll reads the changes of the store once and applies them. Run calls it periodically.
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
