package keyring

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"petcat"
)

// lookups are the queries of the store, one at a time. All callers that wait share the
// next one. A caller that asks for a key that the current query asks for waits for that.
type lookups struct {
	running sync.WaitGroup // the goroutine that asks

	mu     sync.Mutex
	asking bool          // guarded by mu; the goroutine runs
	asked  *sharedLookup // guarded by mu; under way; nil: none is
	next   *sharedLookup // guarded by mu; yet to be sent; nil: nobody waits
}

// sharedLookup is one query for the keys of all callers that waited.
type sharedLookup struct {
	hashes     map[petcat.KeyHash]struct{} // complete once it was sent
	generation uint64                      // of the keyring when it was sent
	done       chan struct{}               // closed when there is an answer
	// Set before done is closed:
	callers map[petcat.KeyHash]*Caller
	err     error
}

// errNoAnswer is the cause of a lookup that took too long.
var errNoAnswer = errors.New("the store did not answer in time")

// lookUp asks the store for the holder of a key. When ctx ends, the lookup goes
// on for the others.
func (k *Keyring) lookUp(ctx context.Context, hash petcat.KeyHash) (*Caller, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, k.lookupTimeout, errNoAnswer)
	defer cancel()
	g := k.join(ctx, hash)
	select {
	case <-g.done:
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, errNoAnswer) {
			return nil, cause
		}
		return nil, errUnavailable(errNoAnswer)
	}
	switch caller := g.callers[hash]; {
	case g.err != nil:
		return nil, errUnavailable(g.err)
	case caller == nil:
		return nil, errUnknown()
	default:
		return caller, nil
	}
}

// join returns the lookup whose answer will tell of a key.
func (k *Keyring) join(ctx context.Context, hash petcat.KeyHash) *sharedLookup {
	l := &k.lookups
	l.mu.Lock()
	defer l.mu.Unlock()
	// What changed since a lookup was sent may be missing from its answer.
	if g := l.asked; g != nil && g.generation == k.generation.Load() {
		if _, ok := g.hashes[hash]; ok {
			return g
		}
	}
	if l.next == nil {
		l.next = &sharedLookup{hashes: make(map[petcat.KeyHash]struct{}), done: make(chan struct{})}
	}
	l.next.hashes[hash] = struct{}{}
	if !l.asking {
		l.asking = true
		// A lookup is shared, so it must not end with one caller's context.
		ctx = context.WithoutCancel(ctx)
		l.running.Go(func() { k.ask(ctx) })
	}
	return l.next
}

// ask sends lookups as long as a caller waits for one.
func (k *Keyring) ask(ctx context.Context) {
	l := &k.lookups
	for {
		l.mu.Lock()
		g := l.next
		l.asked, l.next = g, nil
		if g == nil {
			l.asking = false
			l.mu.Unlock()
			return
		}
		g.generation = k.generation.Load()
		l.mu.Unlock()
		k.askFor(ctx, g)
		l.mu.Lock()
		l.asked = nil // who comes now asks anew: the answer may be out of date
		l.mu.Unlock()
		close(g.done)
	}
}

// askFor asks the store for the keys of a lookup, and keeps those that it has
// unless something changed meanwhile.
func (k *Keyring) askFor(ctx context.Context, g *sharedLookup) {
	ctx, cancel := context.WithTimeoutCause(ctx, k.lookupTimeout, errNoAnswer)
	defer cancel()
	k.lookedUp.Add(uint64(len(g.hashes)))
	found, err := k.store.FindCredentials(ctx, slices.Collect(maps.Keys(g.hashes)))
	if err != nil {
		g.err = err
		return
	}
	g.callers = make(map[petcat.KeyHash]*Caller, len(found))
	for hash, credential := range found {
		caller := newCaller(hash, credential)
		g.callers[hash] = caller
		k.keep(caller, g.generation)
	}
}

// keep remembers a caller, unless something was forgotten since the look-up
// began, in the given generation.
func (k *Keyring) keep(caller *Caller, generation uint64) {
	if k.generation.Load() != generation {
		return
	}
	k.known.put(caller)
	// Something may have been forgotten between the check and the put.
	if k.generation.Load() != generation {
		k.known.remove(caller.hash)
	}
}
