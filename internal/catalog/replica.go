package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"petcat"
	"petcat/internal/breaker"
	"petcat/internal/clock"
)

// ReplicaOptions says how a [Replica] works. All fields are required but
// those with a default.
type ReplicaOptions struct {
	Feed   petcat.CategoryFeed
	Clock  clock.Clock
	Logger *slog.Logger
	// MaxStaleness is how old a list may be while the feed fails; 0 forbids it.
	MaxStaleness time.Duration
	// Timeout bounds one query; 2 s by default.
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
// If a query fails, all waiting lists are answered from memory, with their age, if
// MaxStaleness allows that. After that, lists still ask, but none waits long: a store that
// does not answer must not delay each list. Use [NewReplica].
type Replica struct {
	catalog *Catalog
	o       ReplicaOptions

	life    context.Context //nolint:containedctx // a query belongs to no single list
	end     context.CancelFunc
	work    sync.WaitGroup   // the asker
	breaker *breaker.Breaker // of the asker's queries

	mu      sync.Mutex
	asking  bool            // guarded by mu; the asker runs
	asked   clock.Reading   // guarded by mu; when the query in flight was sent
	next    *query          // guarded by mu; the query that lists wait for; nil if none waits
	seen    petcat.Revision // guarded by mu; nothing is missing up to it
	newest  petcat.Revision // guarded by mu; of the store, the newest that a list knew
	current petcat.Revision // guarded by mu; of the store: the catalog has all changes up to it
	seenAt  clock.Reading   // guarded by mu; when the last query that succeeded was sent
	queries uint64          // guarded by mu; sent so far
	stale   uint64          // guarded by mu; lists that were out of date
}

// query is a freshness query that is not answered yet, and perhaps not sent.
type query struct {
	done chan struct{} // closed when there is an answer
	err  error         // set before done is closed
}

func (q *query) answer(err error) {
	q.err = err
	close(q.done)
}

// While the store is unavailable:
const (
	// openFor is how long no query is sent after a failure.
	openFor = 100 * time.Millisecond
	// listTimeout is how long a list waits for an answer, and how old a query
	// without one must be to be taken for a failed one.
	listTimeout = 250 * time.Millisecond
)

const defaultQueryTimeout = 2 * time.Second

// NewReplica returns a catalog that holds nothing yet: call Load. Close ends it.
func NewReplica(ctx context.Context, c *Catalog, o ReplicaOptions) *Replica {
	if o.Timeout == 0 {
		o.Timeout = defaultQueryTimeout
	}
	r := &Replica{catalog: c, o: o, breaker: breaker.New(o.Clock, openFor)}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Load fills the empty catalog from a store. Do not call Current before.
func (r *Replica) Load(ctx context.Context, store interface {
	EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error
},
) error {
	asked := r.o.Clock.Read()
	if err := r.catalog.Load(ctx, store); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen, r.seenAt = r.catalog.current.Load().Revision(), asked
	return nil
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

// Check sends a freshness query for health checks, and returns when it is answered or has
// failed. Stats has the result. It is not counted as a list.
func (r *Replica) Check(ctx context.Context) {
	q, _ := r.join()
	if q == nil {
		return
	}
	select {
	case <-q.done:
	case <-ctx.Done():
	}
}

// Current returns a list that contains every write that any node answered before the call;
// its age is 0. newest is the newest revision of the store, if that was read after the call
// was asked for, or 0. While the store is unavailable, it returns the list in memory, and how
// long ago that was complete. If that is longer than MaxStaleness, it returns a
// [petcat.Error] with [petcat.CodeServiceUnavailable].
func (r *Replica) Current(ctx context.Context, newest petcat.Revision) (list *Snapshot, age time.Duration, err error) {
	if r.has(newest) {
		return r.catalog.current.Load(), 0, nil
	}
	q, limit := r.join()
	if q == nil {
		return r.lastKnown()
	}
	var expired <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-q.done:
		if q.err != nil {
			return r.lastKnown()
		}
		return r.catalog.current.Load(), 0, nil
	case <-expired:
		return r.lastKnown()
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("catalog: wait for what is new: %w", context.Cause(ctx))
	}
}

// has reports whether the catalog has all changes up to a revision of the store.
func (r *Replica) has(newest petcat.Revision) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = max(r.newest, newest)
	return newest != 0 && newest <= r.current
}

// join returns the query to wait for, and for how long; 0 means until it is answered. It
// returns no query if the store leaves another one unanswered, or after Close.
func (r *Replica) join() (*query, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life.Err() != nil {
		return nil, 0
	}
	var limit time.Duration
	if r.breaker.Err() != nil {
		limit = listTimeout
		if r.asking && r.o.Clock.Read().Since(r.asked) > listTimeout {
			return nil, 0
		}
	}
	if r.next == nil {
		r.next = &query{done: make(chan struct{})}
	}
	q := r.next
	if !r.asking {
		r.asking = true
		r.work.Go(r.ask)
	}
	return q, limit
}

// ask sends queries as long as a list waits for one. A query that the circuit breaker does
// not allow fails.
func (r *Replica) ask() {
	for {
		// Lists that can join do so first; on an idle machine there are none.
		runtime.Gosched()
		r.mu.Lock()
		q := r.next
		if q == nil {
			r.asking = false
			r.mu.Unlock()
			return
		}
		r.next = nil
		if err := r.breaker.Enter(); err != nil {
			q.answer(err)
			r.mu.Unlock()
			continue
		}
		r.asked = r.o.Clock.Read()
		r.queries++
		after, asked, newest := r.seen, r.asked, r.newest
		r.mu.Unlock()

		seen, err := r.askOnce(after)
		if err == nil { // it was sent after newest was read, and so it read all changes up to that
			r.mu.Lock()
			r.current = max(r.current, newest)
			r.mu.Unlock()
		}
		r.answer(q, seen, asked, err)
	}
}

// askOnce reads every change after a revision into the catalog, and publishes them when
// none is missing: a category that is changed meanwhile comes after others that were created
// later. It returns the revision up to which the catalog has every change, even with an
// error: the changes before a failure stay, so a node that is far behind catches up with
// each query.
func (r *Replica) askOnce(after petcat.Revision) (petcat.Revision, error) {
	ctx, cancel := context.WithTimeout(r.life, r.o.Timeout)
	defer cancel()
	seen, err := r.o.Feed.CategoriesSince(ctx, after, func(c petcat.RevisedCategory) error {
		r.catalog.mu.Lock()
		defer r.catalog.mu.Unlock()
		r.catalog.stage(c)
		return nil
	})
	r.catalog.mu.Lock()
	defer r.catalog.mu.Unlock()
	if err == nil {
		r.catalog.publish()
	}
	return max(seen, r.catalog.revision), err
}

// answer ends a query. If it failed, the next query fails too, so that its lists do not have
// to wait for the same failure.
func (r *Replica) answer(q *query, seen petcat.Revision, asked clock.Reading, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.breaker.Err()
	r.seen = max(r.seen, seen)
	if err == nil {
		r.seenAt = asked
		r.breaker.Answered()
	} else {
		r.breaker.Failed(err)
		if r.next != nil {
			r.next.answer(err)
			r.next = nil
		}
	}
	q.answer(err)
	switch {
	case r.life.Err() != nil:
	case before == nil && err != nil:
		r.o.Logger.ErrorContext(r.life, "freshness queries fail; the list is served from memory", "max_staleness", r.o.MaxStaleness, "error", err)
	case before != nil && err == nil:
		r.o.Logger.InfoContext(r.life, "freshness queries succeed again")
	}
}

// lastKnown returns the list as it was when the store last answered, if MaxStaleness allows
// that.
func (r *Replica) lastKnown() (*Snapshot, time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// At least 1 ns: 0 means that the list is complete now.
	age := max(1, r.o.Clock.Read().Since(r.seenAt))
	if age > r.o.MaxStaleness {
		return nil, 0, petcat.Errorf(petcat.CodeServiceUnavailable,
			"the list cannot be brought up to date at the moment; retry later").WithCause(r.breaker.Err())
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
		Away: r.breaker.Err() != nil, Age: r.o.Clock.Read().Since(r.seenAt),
		Queries: r.queries, Stale: r.stale,
	}
}
