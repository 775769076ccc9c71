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

// FreshOptions says how a [Fresh] catalog works. All fields are required but
// those with a default.
type FreshOptions struct {
	Feed   petcat.CategoryFeed
	Clock  clock.Clock
	Logger *slog.Logger
	// MaxStaleness is how old a list may be while the feed fails; 0 forbids it.
	MaxStaleness time.Duration
	// Timeout bounds one query; 2 s by default.
	Timeout time.Duration
}

// Fresh is a catalog for servers that share a store: each list shows every
// write that was answered before the list was asked for, by any server.
//
// A list waits for the answer to a query that was sent after the list had
// arrived: was anything changed after the last change that is known? All lists that
// wait share one query, and the next is sent when the last was answered; so
// the store gets one small query per round trip, however many lists there are.
//
// When a query fails, everybody who waits is answered from what was last
// known, with its age, if that is allowed. Then lists go on asking, but none
// waits long: they need not find out one by one that the store hangs. Use
// [NewFresh].
type Fresh struct {
	catalog *Catalog
	o       FreshOptions

	life    context.Context //nolint:containedctx // a query belongs to no single list
	end     context.CancelFunc
	work    sync.WaitGroup   // the asker
	breaker *breaker.Breaker // of the asker's queries

	mu      sync.Mutex
	asking  bool            // guarded by mu; the asker runs
	asked   clock.Reading   // guarded by mu; when the query under way was sent
	next    *query          // guarded by mu; what waiting lists wait for; nil: none waits
	seen    petcat.Revision // guarded by mu; nothing is missing up to it
	seenAt  clock.Reading   // guarded by mu; when the last query that succeeded was sent
	queries uint64          // guarded by mu; sent so far
	stale   uint64          // guarded by mu; lists that were out of date
}

// query is one that is yet to be sent, or under way.
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
	// openFor is how long nobody asks again after a failure.
	openFor = 100 * time.Millisecond
	// listTimeout is how long a list waits for an answer, and how old a query
	// without one must be to be taken for a failed one.
	listTimeout = 250 * time.Millisecond
)

const defaultQueryTimeout = 2 * time.Second

// NewFresh returns a catalog that holds nothing yet: call Load. Close ends it.
func NewFresh(ctx context.Context, c *Catalog, o FreshOptions) *Fresh {
	if o.Timeout == 0 {
		o.Timeout = defaultQueryTimeout
	}
	f := &Fresh{catalog: c, o: o, breaker: breaker.New(breaker.Options{Clock: o.Clock, OpenFor: openFor})}
	f.life, f.end = context.WithCancel(context.WithoutCancel(ctx))
	return f
}

// Load fills the empty catalog from a store. No list may be asked for before.
func (f *Fresh) Load(ctx context.Context, store interface {
	EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error
},
) error {
	asked := f.o.Clock.Read()
	if err := f.catalog.Load(ctx, store); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.seenAt = f.catalog.current.Load().Revision(), asked
	return nil
}

// Close ends the query under way; lists that wait for it fail.
func (f *Fresh) Close() {
	f.mu.Lock()
	f.end()
	f.mu.Unlock()
	f.work.Wait()
}

// Count returns how many categories the list has, as far as is known: it asks
// nobody.
func (f *Fresh) Count() int64 { return f.catalog.Count() }

// Check asks what is new, for health checks, and returns when that is answered or
// cannot be. What it finds is in Stats; it counts as no list.
func (f *Fresh) Check(ctx context.Context) {
	q, _ := f.join()
	if q == nil {
		return
	}
	select {
	case <-q.done:
	case <-ctx.Done():
	}
}

// Current returns a list that shows every write that was answered before the
// call, by any server; its age then is 0. When the store cannot be asked, it
// returns what was last known, and how long ago it was known to be complete, or
// an [petcat.Error] with [petcat.CodeServiceUnavailable] when that is too long.
func (f *Fresh) Current(ctx context.Context) (list *Snapshot, age time.Duration, err error) {
	q, limit := f.join()
	if q == nil {
		return f.lastKnown()
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
			return f.lastKnown()
		}
		return f.catalog.current.Load(), 0, nil
	case <-expired:
		return f.lastKnown()
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("catalog: wait for what is new: %w", context.Cause(ctx))
	}
}

// join returns the query to wait for, and for how long, 0 for as long as it
// takes. It returns none when the store leaves another unanswered, or after Close.
func (f *Fresh) join() (*query, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.life.Err() != nil {
		return nil, 0
	}
	var limit time.Duration
	if state, _ := f.breaker.State(); state != breaker.Closed {
		limit = listTimeout
		if f.asking && f.o.Clock.Read().Since(f.asked) > listTimeout {
			return nil, 0
		}
	}
	if f.next == nil {
		f.next = &query{done: make(chan struct{})}
	}
	q := f.next
	if !f.asking {
		f.asking = true
		f.work.Go(f.ask)
	}
	return q, limit
}

// ask sends queries as long as somebody waits for one. Those that the breaker does not
// let through fail.
func (f *Fresh) ask() {
	for {
		// Lists that can join do so first; on an idle machine there are none.
		runtime.Gosched()
		f.mu.Lock()
		q := f.next
		if q == nil {
			f.asking = false
			f.mu.Unlock()
			return
		}
		f.next = nil
		t, err := f.breaker.Enter(f.life) // it does not wait: nobody else enters
		if err != nil {
			q.answer(err)
			f.mu.Unlock()
			continue
		}
		f.asked = f.o.Clock.Read()
		f.queries++
		after, asked := f.seen, f.asked
		f.mu.Unlock()

		seen, err := f.askOnce(after)
		f.answer(q, t, seen, asked, err)
	}
}

// askOnce asks for everything after a revision, puts it into the catalog, and shows it
// when nothing is missing: a category that was changed meanwhile comes behind others that
// were created after it. It returns up to which revision the catalog knows everything,
// also with an error: what came before a failure stays, so whoever is far behind gets
// nearer with every query.
func (f *Fresh) askOnce(after petcat.Revision) (petcat.Revision, error) {
	ctx, cancel := context.WithTimeout(f.life, f.o.Timeout)
	defer cancel()
	seen, err := f.o.Feed.CategoriesSince(ctx, after, func(c petcat.RevisedCategory) error {
		f.catalog.mu.Lock()
		defer f.catalog.mu.Unlock()
		f.catalog.stage(c)
		return nil
	})
	f.catalog.mu.Lock()
	defer f.catalog.mu.Unlock()
	if err == nil {
		f.catalog.publish()
	}
	return max(seen, f.catalog.revision), err
}

// answer ends a query. A failure is everybody's: who waits for the next
// query need not wait for that to fail too.
func (f *Fresh) answer(q *query, t breaker.Ticket, seen petcat.Revision, asked clock.Reading, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, _ := f.breaker.State()
	f.seen = max(f.seen, seen)
	if err == nil {
		f.seenAt = asked
		f.breaker.Leave(t, breaker.Answered, nil)
	} else {
		f.breaker.Leave(t, breaker.Failed, err)
		if f.next != nil {
			f.next.answer(err)
			f.next = nil
		}
	}
	q.answer(err)
	switch {
	case f.life.Err() != nil:
	case before == breaker.Closed && err != nil:
		f.o.Logger.ErrorContext(f.life, "freshness queries fail; lists are served from memory", "max_staleness", f.o.MaxStaleness, "error", err)
	case before != breaker.Closed && err == nil:
		f.o.Logger.InfoContext(f.life, "freshness queries succeed again")
	}
}

// lastKnown returns the list as it was when the store last answered, if it may
// still be shown.
func (f *Fresh) lastKnown() (*Snapshot, time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// At least 1 ns: 0 is for what is known to be complete now.
	age := max(1, f.o.Clock.Read().Since(f.seenAt))
	if age > f.o.MaxStaleness {
		_, cause := f.breaker.State()
		return nil, 0, petcat.Errorf(petcat.CodeServiceUnavailable,
			"the list cannot be brought up to date at the moment; retry later").WithCause(cause)
	}
	f.stale++
	return f.catalog.current.Load(), age, nil
}

// FreshStats are for metrics.
type FreshStats struct {
	// Away says that the last query failed.
	Away bool
	// Age is how long ago the list was last known to be complete.
	Age     time.Duration
	Queries uint64 // sent to the store so far
	Stale   uint64 // lists so far that were answered from what was last known
}

// Stats returns how the catalog stands.
func (f *Fresh) Stats() FreshStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	state, _ := f.breaker.State()
	return FreshStats{
		Away: state != breaker.Closed, Age: f.o.Clock.Read().Since(f.seenAt),
		Queries: f.queries, Stale: f.stale,
	}
}
