package postgres

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/pgtest"
	"petcat/internal/store"
	"petcat/internal/storetest"
)

func TestOneBadWriteDoesNotHurtItsGroup(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	// The domain lets nothing pass that the database would refuse.
	server.Server(t).Execute(t, url, "ALTER TABLE category ADD CHECK (name <> 'bad')")
	good := func(name string, key petcat.IdempotencyKey) *store.Create {
		n := newCategory(t, name)
		return &store.Create{CreateCategory: petcat.CreateCategory{Account: 1, New: n, IdempotencyKey: key}, Fingerprint: n.Fingerprint()}
	}
	for _, keyed := range []petcat.IdempotencyKey{"", "k"} {
		before := len(storetest.Names(t, s))
		group := []*store.Create{good("Dogs", keyed), good("bad", ""), good("Cats", "")}
		// The committer's goroutine has nothing to do meanwhile.
		if err := s.commit(group); err != nil {
			t.Fatalf("the group failed: %v", err)
		}
		if petcat.CodeOf(group[1].Outcome) != petcat.CodeInternalError {
			t.Errorf("the bad write: %v", group[1].Outcome)
		}
		for i, want := range map[int]petcat.CategoryID{0: petcat.CategoryID(before + 1), 2: petcat.CategoryID(before + 2)} {
			if o := group[i]; o.Outcome != nil || o.Created.Replayed || o.Created.Category.ID != want {
				t.Errorf("write %d: %+v, %v, want category %d", i, o.Created, o.Outcome, want)
			}
		}
	}
}

// holdCounter keeps the writer waiting until the returned function is called.
func holdCounter(t *testing.T, url string) (release func()) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "BEGIN")
	pgtest.Execute(t, conn, "SELECT 1 FROM counter FOR UPDATE")
	return func() { pgtest.Execute(t, conn, "ROLLBACK") }
}

func TestCallerThatGoesAwayLeavesAnAnswer(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	release := holdCounter(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tryCreate(ctx, t, s, "Dogs", "k")
	wantUnavailable(t, err)
	_, err = tryCreate(t.Context(), t, s, "Dogs", "k")
	if petcat.CodeOf(err) != petcat.CodeIdempotencyInProgress {
		t.Fatalf("while the write waits: %v, want %s", err, petcat.CodeIdempotencyInProgress)
	}
	release()
	create(t, s, "Cats") // comes after it
	repeated, err := tryCreate(t.Context(), t, s, "Dogs", "k")
	if err != nil || !repeated.Replayed {
		t.Errorf("the repetition: %+v, %v, want the category that was made after all", repeated, err)
	}
}

// Callers' writes are refused at once while a trial is under way, and leave nothing behind.
func TestTrialOfWrites(t *testing.T) {
	now := clock.NewManual(time.Now())
	var groups atomic.Int64
	s := openAt(t, server.Database(t), Options{Clock: now, CommitObserved: func(int, time.Duration) { groups.Add(1) }})
	defer closeNow(t, s)
	c := create(t, s, "Dogs")
	before := groups.Load()
	s.pool.writes.Trip(errNoAnswer)
	now.Advance(openFor)
	err := s.pool.writes.run(t.Context(), func() error {
		for range 2 { // the second time it is not in progress either
			_, err := tryCreate(t.Context(), t, s, "Cats", "k")
			wantUnavailable(t, err)
		}
		wantUnavailable(t, s.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: c.ID, Account: 1}))
		if got := groups.Load() - before; got != 0 {
			t.Errorf("%d groups waited for the trial", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryCreate(t.Context(), t, s, "Cats", "k"); err != nil {
		t.Error(err)
	}
	if err := s.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: c.ID, Account: 1}); err != nil {
		t.Error(err)
	}
}

func TestFullQueueFreesTheIdempotencyKey(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{Queue: 1})
	release := holdCounter(t, url)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tryCreate(gone, t, s, "held up", "")
	wantUnavailable(t, err)
	awaitLock(t, url)
	_, err = tryCreate(gone, t, s, "fills the queue", "")
	wantUnavailable(t, err)
	for range 2 { // the second time it is not in progress either
		_, err = tryCreate(t.Context(), t, s, "Dogs", "k")
		wantUnavailable(t, err)
	}
	release()
	closeNow(t, s) // drains the queue
	again := openAt(t, url, Options{})
	defer closeNow(t, again)
	if got := strings.Join(storetest.Names(t, again), ", "); got != "held up, fills the queue" {
		t.Errorf("categories %s", got)
	}
}

func TestCallerOfAReadThatGoesAway(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	for range 3 * defaultPoolSize { // each costs a connection at most
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Check(gone); err == nil {
			t.Error("somebody who is gone was answered")
		}
	}
	if err := s.Check(t.Context()); err != nil || !s.Stats().Readable {
		t.Errorf("after callers that went away: %v, %+v", err, s.Stats())
	}
}

// Callers who go away while they are waited for cost no connections.
func TestCallersOfASlowReadThatGoAway(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url+"&pool_max_conns=3", Options{})
	defer closeNow(t, s)
	observer := pgtest.Connect(t, url)
	started := func() (newest time.Time) {
		const query = `SELECT max(backend_start) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petcat'`
		if err := observer.QueryRow(t.Context(), query).Scan(&newest); err != nil {
			t.Fatal(err)
		}
		return newest
	}
	blocker := pgtest.Connect(t, url)
	lookUp := func(ctx context.Context) {
		_, _ = s.FindCredentials(ctx, []petcat.KeyHash{{}})
	}
	block := func(callers int, timeout time.Duration) {
		pgtest.Execute(t, blocker, "BEGIN")
		pgtest.Execute(t, blocker, "LOCK TABLE api_key")
		var all sync.WaitGroup
		for range callers {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			all.Go(func() { lookUp(ctx) })
		}
		awaitLock(t, url)
		time.Sleep(40 * time.Millisecond)
		pgtest.Execute(t, blocker, "ROLLBACK")
		all.Wait()
	}
	block(20, time.Second) // all connections are there now
	before := started()
	block(20, 20*time.Millisecond)
	if after := started(); after != before {
		t.Errorf("a new connection was made at %s, after %s", after, before)
	}
	if most := s.pool.pool.Stat().MaxConns(); most != 3 || s.Stats().Connections > 3 {
		t.Errorf("%d connections of at most %d, want at most 3", s.Stats().Connections, most)
	}
}

// TestCleanOfSharedCounts: of what nodes count together, what is over goes. The rest is
// the suite's.
func TestCleanOfSharedCounts(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, `INSERT INTO shared_count (account_id, part, day)
		SELECT n, 7, extract(epoch FROM now())::int8 / 86400 - n FROM generate_series(0, 3) AS n`)
	pgtest.Execute(t, conn, `INSERT INTO shared_retry (key_id, node, retries, told_at)
		SELECT n, 'a', 1, (extract(epoch FROM now())::int8 - 120 * n) * 1000000000 FROM generate_series(0, 3) AS n`)
	if err := s.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	var counts, retries int
	if err := conn.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM shared_count), (SELECT count(*) FROM shared_retry)").Scan(&counts, &retries); err != nil {
		t.Fatal(err)
	}
	if counts != 2 || retries != 1 {
		t.Errorf("%d accounts and %d keys are left, want those of today and yesterday, and of this minute", counts, retries)
	}
}
