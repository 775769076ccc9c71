package keyring

import (
	"context"
	"sync"
	"time"

	"petcat"
)

const (
	// interval is the time between two polls: with a slow read between them a change is
	// seen within a second. A poll that finds nothing new reads one row.
	interval = 200 * time.Millisecond
	// timeout bounds a poll, and patience how long a caller waits for one.
	timeout  = 5 * time.Second
	patience = time.Second
)

// feed follows the changes of the store.
type feed struct {
	seen petcat.Revision // of Load and Run
	away bool            // of Run: the last poll failed
	wake chan struct{}   // has a value while CatchUp waits for the next poll

	mu      sync.Mutex
	running bool          // guarded by mu
	next    chan struct{} // guarded by mu; closed when the next poll that begins has ended
}

// Run follows the changes until ctx ends.
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

// take returns what callers of await wait for, and says whether polls go on.
func (f *feed) take(running bool) (waiting chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	waiting, f.next, f.running = f.next, make(chan struct{}), running
	return waiting
}

// await waits until everything that was committed before the call is applied, for a second
// at most. now says that the next poll comes at once.
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

// CatchUp applies everything that was committed before the call. If the store does not
// answer within a second, a later poll will.
func (k *Keyring) CatchUp(ctx context.Context) { k.feed.await(ctx, true) }

// Poll asks the store once for changes, and applies them. Run does so by itself.
func (k *Keyring) Poll(ctx context.Context) {
	f := &k.feed
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	asked := k.o.Clock.Read()
	change, err := k.o.Store.AccessChangesSince(asking, f.seen)
	if err != nil {
		if !f.away && ctx.Err() == nil {
			f.away = true
			k.o.Logger.ErrorContext(ctx, "access changes could not be read; retrying", "error", err)
		}
		return
	}
	if f.away {
		f.away = false
		k.o.Logger.InfoContext(ctx, "access changes are read again")
	}
	k.apply(change)
	f.seen = max(f.seen, change.Revision)
	k.readAt.Store(asked.Mono)
}
