package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/clock"
)

// feed is a store with other writers. It responds after a round trip.
type feed struct {
	mu         sync.Mutex
	categories []petcat.RevisedCategory // guarded by mu
	fail       error                    // guarded by mu; nil: no failure
	hangs      bool                     // guarded by mu; queries get no response
	perRow     time.Duration            // guarded by mu; duration of each row
	asked      atomic.Int64
}

const roundTrip = 10 * time.Millisecond

var errDown = errors.New("down")

// CategoriesSince reads the data half a round trip after the call.
func (f *feed) CategoriesSince(
	ctx context.Context, after petcat.Revision, fn func(petcat.RevisedCategory) error,
) error {
	f.asked.Add(1)
	time.Sleep(roundTrip / 2)
	f.mu.Lock()
	found, fail, hangs, perRow := f.categories, f.fail, f.hangs, f.perRow
	f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if fail != nil {
		return fail
	}
	time.Sleep(roundTrip / 2)
	for _, c := range found {
		if c.Revision <= after {
			continue
		}
		if time.Sleep(perRow); ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fn(c); err != nil {
			return err
		}
	}
	return nil
}

func (f *feed) EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error {
	return f.CategoriesSince(ctx, 0, fn)
}

// create is a create on another node.
func (f *feed) create() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.categories = append(f.categories, revised(len(f.categories)+1, "x", nil))
}

func (f *feed) set(fail error, hangs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.hangs = fail, hangs
}

// withReplica runs a test in virtual time.
func withReplica(t *testing.T, maxStaleness time.Duration, test func(t *testing.T, f *feed, c *catalog.Replica)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{}
		c := catalog.NewReplica(t.Context(), catalog.New("data"), catalog.ReplicaOptions{
			Feed: f, Clock: clock.NewSystem(), Logger: slog.New(slog.DiscardHandler), MaxStaleness: maxStaleness,
		})
		t.Cleanup(c.Close)
		if err := c.Load(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		f.asked.Store(0)
		test(t, f, c)
	})
}

func wantList(t *testing.T, c *catalog.Replica, count int64, age time.Duration) {
	t.Helper()
	s, got, err := c.Current(t.Context(), 0)
	if err != nil {
		t.Errorf("got no list: %v", err)
		return
	}
	if s.Count() != count || got != age {
		t.Errorf("got %d categories, %s old; want %d, %s old", s.Count(), got, count, age)
	}
}

func wantNoList(t *testing.T, c *catalog.Replica) {
	t.Helper()
	_, _, err := c.Current(t.Context(), 0)
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Errorf("error %v, want %s", err, petcat.CodeServiceUnavailable)
	}
}

// took fails the test unless fn takes exactly the given time.
func took(t *testing.T, want time.Duration, fn func()) {
	t.Helper()
	start := time.Now()
	fn()
	if got := time.Since(start); got != want {
		t.Errorf("took %s, want %s", got, want)
	}
}

// A server that cannot read the list does not start with an empty list.
func TestLoadFails(t *testing.T) {
	f := catalog.NewReplica(t.Context(), catalog.New(
		"d"), catalog.ReplicaOptions{Feed: &feed{}, Clock: clock.NewSystem(), Logger: slog.New(slog.DiscardHandler)})
	defer f.Close()
	if err := f.Load(t.Context(), &feed{fail: errDown}); !errors.Is(err, errDown) {
		t.Errorf("Load returned %v", err)
	}
}

func TestListsShareQueries(t *testing.T) {
	withReplica(t, time.Minute, func(t *testing.T, f *feed, c *catalog.Replica) {
		var lists sync.WaitGroup
		for i := range 1000 {
			lists.Go(func() {
				time.Sleep(time.Duration(i) * roundTrip / 100) // during ten round trips
				wantList(t, c, 0, 0)
			})
		}
		lists.Wait()
		// A query is running when the last list is requested, which needs one more.
		if got := f.asked.Load(); got > 12 {
			t.Errorf("got %d queries in eleven round trips", got)
		}
		time.Sleep(time.Hour)
		if got := c.Stats(); got.Queries != uint64(f.asked.Load()) || got.Stale != 0 {
			t.Errorf("got the stats %+v after %d queries", got, f.asked.Load())
		}
	})
}

func TestRunningQueryIsNotEnough(t *testing.T) {
	withReplica(t, time.Minute, func(t *testing.T, f *feed, c *catalog.Replica) {
		f.create()
		var first sync.WaitGroup
		first.Go(func() { wantList(t, c, 1, 0) })
		time.Sleep(roundTrip/2 + 1) // the store has read already
		f.create()
		took(t, roundTrip/2-1+roundTrip, func() { wantList(t, c, 2, 0) })
		first.Wait()
		if got := f.asked.Load(); got != 2 {
			t.Errorf("got %d queries, want 2", got)
		}
	})
}

// If a query times out, the next one reads the remaining changes.
func TestCatchUpWithSlowFeed(t *testing.T) {
	withReplica(t, time.Second, func(t *testing.T, f *feed, c *catalog.Replica) {
		const many = 5000 // 5 s; the timeout of a query is 2 s
		f.mu.Lock()
		f.perRow = time.Millisecond
		f.mu.Unlock()
		for range many {
			f.create()
		}
		for range 3 {
			_, _, _ = c.Current(t.Context(), 0)
			time.Sleep(2 * time.Second)
		}
		wantList(t, c, many, 0)
	})
}

// Changes are shown only after all of them were read: a category that changed twice is read once,
// after categories between its changes, so the list would be one that never existed.
func TestPartialChangesAreNotShown(t *testing.T) {
	withReplica(t, time.Minute, func(t *testing.T, f *feed, c *catalog.Replica) {
		f.create()
		wantList(t, c, 1, 0)
		f.mu.Lock()
		f.perRow = time.Millisecond // the timeout of a query is 2 s
		f.mu.Unlock()
		for range 3000 {
			f.create()
		}
		for range 2 { // the second one starts the query for the rest
			s, age, err := c.Current(t.Context(), 0)
			if err != nil || age == 0 || s.Count() != 1 {
				t.Errorf("got %d categories, %s old, %v; want the list before", s.Count(), age, err)
			}
			time.Sleep(2 * time.Second)
		}
		wantList(t, c, 3001, 0)
	})
}

func TestFeedIsDown(t *testing.T) {
	withReplica(t, 30*time.Second, func(t *testing.T, f *feed, c *catalog.Replica) {
		f.create()
		wantList(t, c, 1, 0) // sent a round trip ago
		f.set(errDown, false)
		f.create()
		took(t, roundTrip/2, func() { wantList(t, c, 1, roundTrip+roundTrip/2) })
		took(t, roundTrip/2, func() { wantList(t, c, 1, 2*roundTrip) })
		if got := c.Stats(); got.Stale != 2 {
			t.Errorf("got the stats %+v, want two stale lists", got)
		}
		// Later lists wait for a query again.
		time.Sleep(10 * time.Second)
		took(t, roundTrip/2, func() { wantList(t, c, 1, 10*time.Second+2*roundTrip+roundTrip/2) })
		time.Sleep(20*time.Second - 3*roundTrip)
		wantList(t, c, 1, 30*time.Second)
		time.Sleep(time.Second)
		wantNoList(t, c)

		f.set(nil, false)
		took(t, roundTrip, func() { wantList(t, c, 2, 0) })
		if got := c.Stats(); got.Age != roundTrip {
			t.Errorf("got the stats %+v after the feed recovered", got)
		}
	})
}

// Check keeps the age and the number of categories current without list requests.
func TestCheck(t *testing.T) {
	withReplica(t, 30*time.Second, func(t *testing.T, f *feed, c *catalog.Replica) {
		time.Sleep(time.Hour)
		f.create()
		took(t, roundTrip, func() { c.Check(t.Context()) })
		if got := c.Stats(); got.Age != roundTrip || c.Count() != 1 {
			t.Errorf("got the stats %+v and %d categories after an hour without lists", got, c.Count())
		}
		f.set(errDown, false)
		c.Check(t.Context())
		time.Sleep(time.Second)
		if got := c.Stats(); got.Age < time.Second || got.Stale != 0 || c.Count() != 1 {
			t.Errorf("got the stats %+v and %d categories while the feed is down", got, c.Count())
		}
		f.set(nil, false)
		c.Check(t.Context())
		if got := c.Stats(); got.Age != roundTrip {
			t.Errorf("got the stats %+v after the feed recovered", got)
		}
	})
}

func TestNoStaleness(t *testing.T) {
	withReplica(t, 0, func(t *testing.T, f *feed, c *catalog.Replica) {
		wantList(t, c, 0, 0)
		f.set(errDown, false)
		wantNoList(t, c)
		wantNoList(t, c)
		f.set(nil, false)
		wantList(t, c, 0, 0)
	})
}

// An unresponsive store delays the first lists for two seconds, and later lists for a quarter of a
// second.
func TestHangingFeed(t *testing.T) {
	withReplica(t, 30*time.Second, func(t *testing.T, f *feed, c *catalog.Replica) {
		wantList(t, c, 0, 0)
		f.set(nil, true)
		var lists sync.WaitGroup
		for range 10 {
			lists.Go(func() { took(t, 2*time.Second, func() { wantList(t, c, 0, 2*time.Second+roundTrip) }) })
			lists.Go(func() {
				time.Sleep(time.Second) // these wait for the next query
				took(t, 2*time.Second, func() { wantList(t, c, 0, 3*time.Second+roundTrip) })
			})
		}
		lists.Wait()
		took(t, 250*time.Millisecond, func() { wantList(t, c, 0, 3*time.Second+260*time.Millisecond) })

		f.set(nil, false)
		f.create()
		time.Sleep(2 * time.Second) // the first query times out
		wantList(t, c, 1, 0)
	})
}

func TestCanceledCaller(t *testing.T) {
	withReplica(t, time.Minute, func(t *testing.T, f *feed, c *catalog.Replica) {
		f.set(nil, true)
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := c.Current(gone, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the error of the context", err)
		}
	})
}

func TestCloseReplica(t *testing.T) {
	withReplica(t, 0, func(t *testing.T, f *feed, c *catalog.Replica) {
		f.set(nil, true)
		var list sync.WaitGroup
		list.Go(func() { wantNoList(t, c) })
		synctest.Wait()
		c.Close()
		list.Wait()
		wantNoList(t, c)
	})
}

func TestOutageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, log := &feed{}, new(bytes.Buffer)
		c := catalog.NewReplica(t.Context(), catalog.New("data"), catalog.ReplicaOptions{
			Feed: f, Clock: clock.NewSystem(), Logger: slog.New(slog.NewTextHandler(log, nil)), MaxStaleness: time.Hour,
		})
		defer c.Close()
		for range 2 {
			f.set(errDown, false)
			for range 10 {
				_, _, _ = c.Current(t.Context(), 0)
				time.Sleep(time.Second)
			}
			f.set(nil, false)
			for range 10 {
				wantList(t, c, 0, 0)
			}
		}
		lost, back := strings.Count(log.String(), "level=ERROR"), strings.Count(log.String(), "level=INFO")
		if lost != 2 || back != 2 {
			t.Errorf("got %d lines of failures and %d of recoveries, want 2 each:\n%s", lost, back, log)
		}
	})
}

// A list that knows the newest revision of the store does not query the store if the catalog has all
// changes up to it.
func TestNewestRevisionIsKnown(t *testing.T) {
	t.Parallel()
	withReplica(t, time.Minute, func(t *testing.T, f *feed, c *catalog.Replica) {
		for _, step := range []struct {
			name           string
			creates        int
			newest         petcat.Revision
			count, queries int64
		}{
			{"created by another node", 1, 4, 1, 1},
			{"nothing new", 0, 4, 1, 0},
			{"another kind of change", 0, 6, 1, 1},
			{"nothing new again", 0, 6, 1, 0},
			{"an earlier charge", 0, 5, 1, 0},
			{"created again", 2, 8, 3, 1},
			{"an unknown revision", 0, 0, 3, 1},
		} {
			for range step.creates {
				f.create()
			}
			before := f.asked.Load()
			s, age, err := c.Current(t.Context(), step.newest)
			queries := f.asked.Load() - before
			if err != nil || age != 0 || s.Count() != step.count || queries != step.queries {
				t.Errorf("%s: got %d categories, %s old, %v, after %d queries; want %d after %d",
					step.name, s.Count(), age, err, queries, step.count, step.queries)
			}
		}
	})
}
