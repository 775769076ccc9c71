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

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
)

// ReplicaOptions of a [Replica]. All fields except Timeout are required.
type ReplicaOptions struct {
	Feed   petcat.CategoryFeed
	Clock  clock.Clock
	Logger *slog.Logger
	// MaxStaleness is the maximum age of a list while the feed fails; 0 disables stale lists.
	MaxStaleness time.Duration
	// Timeout of a query, and of the wait of a list; 0 means 2 s.
	Timeout time.Duration
}

// Replica is a catalog for nodes that share a store. Each list contains every write that any node
// acknowledged before the list was requested.
//
// Each list request waits for a freshness query that is sent after the request arrived. The query
// reads the changes since the last known revision. All waiting requests share one query, and the next
// query is sent after the last one has returned, so the store gets one small query per round trip under
// any load. A request does not need a query if the store returned the newest revision when it counted the
// request, and the catalog has that revision.
//
// If the query fails, requests get the list in memory and its age, up to MaxStaleness. Use
// [NewReplica].
type Replica struct {
	catalog *Catalog
	o       ReplicaOptions

	life context.Context //nolint:containedctx // queries are shared by requests
	end  context.CancelFunc
	work sync.WaitGroup // of ask

	mu       sync.Mutex
	asking   bool            // guarded by mu; ask runs
	next     *query          // guarded by mu; the query that requests wait for; nil without requests
	newest   petcat.Revision // guarded by mu; the newest revision of the store known from requests
	current  petcat.Revision // guarded by mu; the catalog has all changes up to this revision of the store
	complete clock.Reading   // guarded by mu; when the last successful query was sent
	failed   error           // guarded by mu; the error of the last query
	queries  uint64          // guarded by mu; number of sent queries
	stale    uint64          // guarded by mu; number of stale lists
}

// query is a freshness query.
type query struct {
	done chan struct{} // closed after the response
	err  error         // set before done is closed
}

// failedTimeout is the maximum wait of a list after a failed query, so that an unresponsive store
// does not delay every list.
const failedTimeout = 250 * time.Millisecond

var errSlow = errors.New("the store is not responding")

// NewReplica returns an empty catalog. Call Load first. Close stops it.
func NewReplica(ctx context.Context, c *Catalog, o ReplicaOptions) *Replica {
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	r := &Replica{catalog: c, o: o}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Load fills the catalog from a store. Do not call Current before Load returns.
func (r *Replica) Load(ctx context.Context, from source) error {
	r.complete = r.o.Clock.Read()
	return r.catalog.Load(ctx, from)
}

// Close cancels the running query. Lists that wait for it fail.
func (r *Replica) Close() {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.work.Wait()
}

// BoundReaders is [Catalog.BoundReaders].
func (r *Replica) BoundReaders(bytes int64) { r.catalog.BoundReaders(bytes) }

// Holdings is [Catalog.Holdings].
func (r *Replica) Holdings(account petcat.AccountID) petcat.Holdings {
	return r.catalog.Holdings(account)
}

// Release is [Catalog.Release].
func (r *Replica) Release() { r.catalog.Release() }

// Count returns the number of categories in memory.
func (r *Replica) Count() int64 { return r.catalog.Count() }

// Current returns a list with every write that any node acknowledged before the call, and the age
// 0. newest is the newest revision of the store, read after the list was requested, or 0 if
// unknown. While the store is unavailable, Current returns the list in memory with its age, or a
// [petcat.Error] with [petcat.CodeServiceUnavailable] if the age exceeds MaxStaleness.
func (r *Replica) Current(ctx context.Context, newest petcat.Revision) (list *Snapshot, age time.Duration, err error) {
	if r.has(newest) {
		return r.catalog.current.Load(), 0, nil
	}
	switch err := r.refresh(ctx); {
	case err == nil:
		return r.catalog.current.Load(), 0, nil
	case ctx.Err() != nil:
		return nil, 0, fmt.Errorf("catalog: wait for the newest list: %w", context.Cause(ctx))
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

// Check updates the catalog. Stats has the result.
func (r *Replica) Check(ctx context.Context) { _ = r.refresh(ctx) }

// refresh waits for a query that is sent after the call. After an error, the catalog may be out of
// date.
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

// join returns the query to wait for, and the maximum wait.
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
		return r.next, failedTimeout
	}
	return r.next, r.o.Timeout
}

// ask sends queries while requests wait.
func (r *Replica) ask() {
	for {
		// Let other requests join first.
		runtime.Gosched()
		r.mu.Lock()
		q, newest, sent := r.next, r.newest, r.o.Clock.Read()
		r.next, r.asking = nil, q != nil
		r.mu.Unlock()
		if q == nil {
			return
		}
		q.err = r.catchUp()
		r.finished(q.err, newest, sent)
		close(q.done)
	}
}

// catchUp reads all changes that the catalog lacks, and publishes them together, because changes of
// a category during the read come out of order. Changes read before a failure are kept, so that a
// node that is far behind makes progress with each query.
func (r *Replica) catchUp() error {
	ctx, cancel := context.WithTimeout(r.life, r.o.Timeout)
	defer cancel()
	r.catalog.mu.Lock()
	after := r.catalog.list.revision
	r.catalog.mu.Unlock()
	err := r.o.Feed.CategoriesSince(ctx, after, func(c petcat.RevisedCategory) error {
		r.catalog.mu.Lock()
		defer r.catalog.mu.Unlock()
		r.catalog.apply(c)
		return nil
	})
	if err == nil {
		r.catalog.Apply(nil)
	}
	return err
}

// finished records the end of a query that was sent when newest was known. A successful query has
// read all changes up to newest.
func (r *Replica) finished(err error, newest petcat.Revision, sent clock.Reading) {
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
		r.o.Logger.ErrorContext(r.life,
			"freshness query failed; lists are served from memory", "max_staleness", r.o.MaxStaleness, "error", err)
	case was != nil && err == nil:
		r.o.Logger.InfoContext(r.life, "freshness query succeeded again")
	}
}

// lastKnown returns the list in memory with its age, or an error if the age exceeds MaxStaleness.
func (r *Replica) lastKnown(cause error) (*Snapshot, time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// At least 1 ns: 0 means that the list is current.
	age := max(1, r.o.Clock.Read().Since(r.complete))
	if age > r.o.MaxStaleness {
		return nil, 0, petcat.Errorf(petcat.CodeServiceUnavailable,
			"the list cannot be refreshed right now; retry later").WithCause(cause)
	}
	r.stale++
	return r.catalog.current.Load(), age, nil
}

// ReplicaStats is the state of a [Replica], for metrics.
type ReplicaStats struct {
	// Age is the time since the list was known to be current.
	Age     time.Duration
	Queries uint64 // number of sent queries
	Stale   uint64 // number of stale lists
}

// Stats returns the state of the replica.
func (r *Replica) Stats() ReplicaStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ReplicaStats{Age: r.o.Clock.Read().Since(r.complete), Queries: r.queries, Stale: r.stale}
}
