package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// ReplicaOptions says how a [Replica] works. All fields are required but Timeout.
type ReplicaOptions struct {
	Feed   petcat.CategoryFeed
	Clock  clock.Clock
	Logger *slog.Logger
	// MaxStaleness is how old a list may be while the feed fails; 0 forbids it.
	MaxStaleness time.Duration
	// Timeout is how long a query may take, and a list wait for one; 0: 2 s.
	Timeout time.Duration
}

// Replica is a catalog for nodes that share a store: each list contains every write that
// any node answered before the list was requested.
//
// A list waits for a freshness query that is sent after the list was requested: it reads
// what has changed since the last change that the replica knows. All waiting lists share
// one query, and the next one is sent when the last was answered. So the store gets one
// small query per round trip, however many lists there are. A list that knows the newest
// revision of the store already, from its charge, asks nothing if the catalog has it.
//
// If its query fails, a list is answered from memory, with its age, if MaxStaleness allows
// that. Use [NewReplica].
type Replica struct {
	catalog *Catalog
	o       ReplicaOptions

	life context.Context //nolint:containedctx // a query belongs to no single list
	end  context.CancelFunc
	work sync.WaitGroup // the asker

	mu       sync.Mutex
	asking   bool            // guarded by mu; the asker runs
	next     *query          // guarded by mu; the query that lists wait for; nil if none waits
	newest   petcat.Revision // guarded by mu; of the store, the newest that a list knew
	current  petcat.Revision // guarded by mu; of the store: the catalog has all changes up to it
	complete clock.Reading   // guarded by mu; when the last query that succeeded was sent
	failed   error           // guarded by mu; of the last query
	queries  uint64          // guarded by mu; sent so far
	stale    uint64          // guarded by mu; lists that were out of date
}

// query is a freshness query that is not answered yet, and perhaps not sent.
type query struct {
	done chan struct{} // closed when there is an answer
	err  error         // set before done is closed
}

// awayTimeout is how long a list waits while the last query failed: a store that does not
// answer must not delay each list.
const awayTimeout = 250 * time.Millisecond

var errSlow = errors.New("the store does not answer")

// NewReplica returns a catalog that holds nothing yet: call Load. Close ends it.
func NewReplica(ctx context.Context, c *Catalog, o ReplicaOptions) *Replica {
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	r := &Replica{catalog: c, o: o}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Load fills the empty catalog from a store. Do not call Current before.
func (r *Replica) Load(ctx context.Context, from source) error {
	r.complete = r.o.Clock.Read()
	return r.catalog.Load(ctx, from)
}

// Close ends the query under way; lists that wait for it fail.
func (r *Replica) Close() {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.work.Wait()
}

// Count returns how many categories are in memory, without a query.
func (r *Replica) Count() int64 { return r.catalog.Count() }

// Current returns a list that contains every write that any node answered before the call;
// its age is 0. newest is the newest revision of the store, if that was read after the call
// was asked for, or 0. While the store is unavailable, it returns the list in memory, and how
// long ago that was complete. If that is longer than MaxStaleness, it returns a
// [petcat.Error] with [petcat.CodeServiceUnavailable].
func (r *Replica) Current(ctx context.Context, newest petcat.Revision) (list *Snapshot, age time.Duration, err error) {
	if r.has(newest) {
		return r.catalog.current.Load(), 0, nil
	}
	switch err := r.refresh(ctx); {
	case err == nil:
		return r.catalog.current.Load(), 0, nil
	case ctx.Err() != nil:
		return nil, 0, fmt.Errorf("catalog: wait for what is new: %w", context.Cause(ctx))
	default:
		return r.lastKnown(err)
	}
}

// has reports whether the catalog has all changes up to a revision of the store.
func (r *Replica) has(newest petcat.Revision) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = max(r.newest, newest)
	return newest != 0 && newest <= r.current
}

// Check brings the catalog up to date. Stats has the result.
func (r *Replica) Check(ctx context.Context) { _ = r.refresh(ctx) }

// refresh waits for a query that is sent after the call. Its error says why the catalog may
// be out of date.
func (r *Replica) refresh(ctx context.Context) error {
	q, patience := r.join()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-q.done:
		return q.err
	case <-timer.C:
		return errSlow
	case <-r.life.Done():
		return r.life.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the query to wait for, and for how long.
func (r *Replica) join() (*query, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &query{done: make(chan struct{})}
	}
	if !r.asking && r.life.Err() == nil {
		r.asking = true
		r.work.Go(r.ask)
	}
	if r.failed != nil {
		return r.next, awayTimeout
	}
	return r.next, r.o.Timeout
}

// ask sends queries as long as a list waits for one.
func (r *Replica) ask() {
	for {
		// Lists that can join do so first; on an idle machine there are none.
		runtime.Gosched()
		r.mu.Lock()
		q, newest, sent := r.next, r.newest, r.o.Clock.Read()
		r.next, r.asking = nil, q != nil
		r.mu.Unlock()
		if q == nil {
			return
		}
		q.err = r.catchUp()
		r.note(q.err, newest, sent)
		close(q.done)
	}
}

// catchUp reads every change that the catalog lacks, and publishes them when none is
// missing: a category that is changed meanwhile comes after others that were created
// later. The changes before a failure stay, so a node that is far behind catches up with
// each query.
func (r *Replica) catchUp() error {
	ctx, cancel := context.WithTimeout(r.life, r.o.Timeout)
	defer cancel()
	r.catalog.mu.Lock()
	after := r.catalog.list.revision
	r.catalog.mu.Unlock()
	_, err := r.o.Feed.CategoriesSince(ctx, after, func(c petcat.RevisedCategory) error {
		r.catalog.mu.Lock()
		defer r.catalog.mu.Unlock()
		r.catalog.list.apply(c)
		return nil
	})
	if err == nil {
		r.catalog.Apply(nil)
	}
	return err
}

// note takes note of the end of a query. One that succeeded read all changes up to newest,
// which was known when it was sent.
func (r *Replica) note(err error, newest petcat.Revision, sent clock.Reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queries++
	was := r.failed
	r.failed = err
	if err == nil {
		r.complete, r.current = sent, max(r.current, newest)
	}
	switch {
	case r.life.Err() != nil:
	case was == nil && err != nil:
		r.o.Logger.ErrorContext(r.life, "freshness queries fail; the list is served from memory", "max_staleness", r.o.MaxStaleness, "error", err)
	case was != nil && err == nil:
		r.o.Logger.InfoContext(r.life, "freshness queries succeed again")
	}
}

// lastKnown returns the list as it was when the store last answered, if MaxStaleness allows
// that.
func (r *Replica) lastKnown(cause error) (*Snapshot, time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// At least 1 ns: 0 means that the list is complete now.
	age := max(1, r.o.Clock.Read().Since(r.complete))
	if age > r.o.MaxStaleness {
		return nil, 0, petcat.Errorf(petcat.CodeServiceUnavailable,
			"the list cannot be brought up to date at the moment; retry later").WithCause(cause)
	}
	r.stale++
	return r.catalog.current.Load(), age, nil
}

// ReplicaStats are for metrics.
type ReplicaStats struct {
	// Away says that the last query failed.
	Away bool
	// Age is how long ago the list was last known to be complete.
	Age     time.Duration
	Queries uint64 // sent to the store so far
	Stale   uint64 // lists so far that were answered from what was last known
}

// Stats returns the state of the replica.
func (r *Replica) Stats() ReplicaStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ReplicaStats{
		Away: r.failed != nil, Age: r.o.Clock.Read().Since(r.complete),
		Queries: r.queries, Stale: r.stale,
	}
}
