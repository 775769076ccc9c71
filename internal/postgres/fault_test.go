package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/pgtest"
	"petcat/internal/stalltest"
	"petcat/internal/store"
	"petcat/internal/storetest"
)

// kills is how often the server is killed; PETCAT_TORTURE_KILLS makes it more.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PETCAT_TORTURE_KILLS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// load is what clients of two nodes do while the server is killed.
type load struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // the clients' life
	stores  [2]*Store
	clients sync.WaitGroup

	mu           sync.Mutex
	acknowledged map[petcat.CategoryID]string // guarded by mu; all creates that were answered
	keyed        map[string]petcat.CategoryID // guarded by mu; those with an idempotency key, by name
	wrong        atomic.Int64                 // answers that are neither a success nor a 503
	since        atomic.Int64                 // successes since the last reset
}

// run lets clients create until ctx ends: half of them with idempotency keys,
// repeating each create until it is answered.
func (l *load) run() {
	for client := range 16 {
		store := l.stores[client%2]
		l.clients.Go(func() {
			for n := 0; l.ctx.Err() == nil; n++ {
				name := fmt.Sprintf("%d/%d", client, n)
				if client < 8 {
					l.once(store, name)
				} else {
					l.untilAnswered(store, name)
				}
			}
		})
	}
}

// judge notes an answer, and reports whether it was a success.
func (l *load) judge(name string, created petcat.CreatedCategory, err error) bool {
	switch code := petcat.CodeOf(err); code {
	case "":
		l.mu.Lock()
		l.acknowledged[created.Category.ID] = name
		l.mu.Unlock()
		l.since.Add(1)
		return true
	case petcat.CodeServiceUnavailable, petcat.CodeIdempotencyInProgress:
		time.Sleep(5 * time.Millisecond) // a caller would wait for a second
	default:
		l.wrong.Add(1)
		l.t.Errorf("create %s: %v", name, err)
	}
	return false
}

func (l *load) once(s *Store, name string) {
	created, err := tryCreate(context.WithoutCancel(l.ctx), l.t, s, name, "")
	l.judge(name, created, err)
}

// untilAnswered ends a create that was begun even after the test is over, so that
// each key is made in the end.
func (l *load) untilAnswered(s *Store, name string) {
	for {
		created, err := tryCreate(context.WithoutCancel(l.ctx), l.t, s, name, petcat.IdempotencyKey(name))
		if l.judge(name, created, err) {
			l.mu.Lock()
			l.keyed[name] = created.Category.ID
			l.mu.Unlock()
			return
		}
	}
}

// A killed server loses nothing that was acknowledged, and repetitions with an
// idempotency key make nothing twice. Both nodes work again within 5 s.
func TestTortureKilledServer(t *testing.T) {
	pg := pgtest.New(t, pgtest.Options{})
	url := pg.Database(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &load{t: t, ctx: ctx, acknowledged: make(map[petcat.CategoryID]string), keyed: make(map[string]petcat.CategoryID)}
	for i := range l.stores {
		l.stores[i] = openAt(t, url, Options{Serving: true})
		defer closeNow(t, l.stores[i])
	}
	l.run()
	control := stalltest.Start(t)
	awaitSuccesses := func() {
		l.since.Store(0)
		control.Measure("200 creates after the server's return", 5*time.Second, func() {
			for start := time.Now(); l.since.Load() < 200; time.Sleep(time.Millisecond) {
				if took := time.Since(start); took > time.Minute {
					t.Fatalf("%d creates within %s of the server's return", l.since.Load(), took)
				}
			}
		})
	}
	for range kills(t) {
		awaitSuccesses()
		pg.Kill()
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	awaitSuccesses()
	cancel()
	l.clients.Wait()

	stored := make(map[petcat.CategoryID]string)
	times := make(map[string]int)
	err := l.stores[0].EachCategory(t.Context(), func(c petcat.RevisedCategory) error {
		stored[c.ID] = c.Name
		times[c.Name]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, name := range l.acknowledged {
		if stored[id] != name {
			t.Errorf("category %d was acknowledged as %q and is %q", id, name, stored[id])
		}
	}
	for name, id := range l.keyed {
		if times[name] != 1 {
			t.Errorf("%q with an idempotency key, category %d, is there %d times", name, id, times[name])
		}
	}
	t.Logf("%d kills: %d creates acknowledged, %d stored, %d with keys", kills(t), len(l.acknowledged), len(stored), len(l.keyed))
}

// within fails the test when fn takes longer, but for what the machine stalls.
func within(t *testing.T, limit time.Duration, what string, fn func()) {
	t.Helper()
	stalltest.Start(t).Measure(what, limit, fn)
}

// A server that hangs makes everything fail within seconds, then at once, and
// everything works again when it goes on.
func TestHungServer(t *testing.T) {
	pg := pgtest.New(t, pgtest.Options{})
	s := openAt(t, pg.Database(t), Options{Serving: true})
	defer closeNow(t, s)
	create(t, s, "before")
	pg.Suspend()
	all := map[string]func() error{
		"create": func() error { _, err := tryCreate(t.Context(), t, s, "during", ""); return err },
		"feed": func() error {
			_, err := s.CategoriesSince(t.Context(), 0, func(petcat.RevisedCategory) error { return nil })
			return err
		},
		"changes": func() error { _, err := s.AccessChangesSince(t.Context(), 0); return err },
		"keys":    func() error { _, err := s.FindCredentials(t.Context(), []petcat.KeyHash{{}}); return err },
		"lease": func() error {
			_, err := s.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: 1, Want: 1, Quota: 1}})
			return err
		},
		"change": func() error { return s.SaveBan(t.Context(), petcat.Ban{Key: 1}) },
		"each":   func() error { return s.EachAccount(t.Context(), func(petcat.Account) error { return nil }) },
		"ping":   func() error { return s.Check(t.Context()) },
	}
	within(t, 5*time.Second, "everything at once", func() {
		var wg sync.WaitGroup
		for range 100 { // far more than there are connections
			for name, fn := range all {
				wg.Go(func() {
					if err := fn(); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
						t.Errorf("%s while the server hangs: %v", name, err)
					}
				})
			}
		}
		wg.Wait()
	})
	stats := s.Stats()
	if waiting := s.pool.waiting.Load(); stats.Readable || stats.Writable || stats.Waiting != 0 || waiting != 0 {
		t.Errorf("stats %+v, and %d wait for a connection, while the server hangs", stats, waiting)
	}
	within(t, 3*time.Second, "everything once more", func() {
		for name, fn := range all {
			if err := fn(); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
				t.Errorf("%s while the server hangs: %v", name, err)
			}
		}
	})
	pg.Resume()
	recovered(t, all, 5*time.Second)
}

// Commits that wait for a standby fail when they took too long. Reads do not
// suffer for it, however many such commits there are.
func TestReadsGoOnWhileCommitsHang(t *testing.T) {
	t.Parallel()
	pg := pgtest.New(t, pgtest.Options{})
	url := pg.Database(t)
	s := openAt(t, url, Options{Serving: true})
	defer closeNow(t, s)
	create(t, s, "before")
	for s.Stats().Connections < defaultPoolSize { // a new one may take long on a busy machine
		time.Sleep(10 * time.Millisecond)
	}
	admin := pgtest.Connect(t, url)
	pgtest.Execute(t, admin, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	pgtest.Execute(t, admin, "SELECT pg_reload_conf()")
	writes := map[string]func() error{
		"create": func() error { _, err := tryCreate(t.Context(), t, s, "during", ""); return err },
		"lease": func() error {
			_, err := s.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: 1, Want: 1, Quota: 1}})
			return err
		},
	}
	end := time.Now().Add(writeTimeout + 500*time.Millisecond)
	var wg sync.WaitGroup
	for range 2 * defaultPoolSize {
		for _, write := range writes {
			wg.Go(func() {
				for ; time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
					if err := write(); err != nil && petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
						t.Errorf("a write: %v", err)
					}
				}
			})
		}
	}
	for ; time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := s.DayCount(t.Context(), 1, 1); err != nil {
			t.Fatalf("a read while commits hang: %v", err)
		}
		if stats := s.Stats(); !stats.Readable {
			t.Fatalf("stats %+v while commits hang", stats)
		}
	}
	if s.Stats().Writable {
		t.Error("the database counts as writable while commits hang")
	}
	wg.Wait()
	pgtest.Execute(t, admin, "ALTER SYSTEM RESET synchronous_standby_names")
	pgtest.Execute(t, admin, "SELECT pg_reload_conf()")
	recovered(t, writes, 5*time.Second)
}

// recovered waits until everything works.
func recovered(t *testing.T, all map[string]func() error, limit time.Duration) {
	t.Helper()
	within(t, limit, "the recovery", func() {
		for name, fn := range all {
			for tries := 0; petcat.CodeOf(fn()) == petcat.CodeServiceUnavailable; tries++ {
				if tries > 1000 {
					t.Fatalf("%s does not work again", name)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
	})
}

// After a restart, no read fails because of connections that it broke.
func TestRestartedServer(t *testing.T) {
	pg := pgtest.New(t, pgtest.Options{})
	s := openAt(t, pg.Database(t), Options{Serving: true})
	defer closeNow(t, s)
	create(t, s, "Dogs")
	warm := func() {
		var wg sync.WaitGroup
		for range 2 * defaultPoolSize {
			wg.Go(func() {
				if err := s.Check(t.Context()); err != nil {
					t.Errorf("ping: %v", err)
				}
				if _, err := s.CategoriesSince(t.Context(), 0, func(petcat.RevisedCategory) error { return nil }); err != nil {
					t.Errorf("feed: %v", err)
				}
			})
		}
		wg.Wait()
	}
	warm()
	for name, end := range map[string]func(){"stopped": pg.Stop, "killed": pg.Kill} {
		end()
		within(t, time.Second, "a refusal", func() { wantUnavailable(t, s.Check(t.Context())) })
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		recovered(t, map[string]func() error{"ping": func() error { return s.Check(t.Context()) }}, 5*time.Second)
		warm()
		if err := s.ReturnDays(t.Context(), aDayCall(), []petcat.DayReturn{{Account: 1, Day: 1, Unused: 1}}); err != nil {
			t.Errorf("%s: the first write: %v", name, err)
		}
	}
	// Idle connections that were broken meanwhile do not cost a create either.
	create(t, s, "Cats")
	pg.Stop()
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(idle + 10*time.Millisecond)
	create(t, s, "Birds")
}

// A server has all connections of its pool before anybody needs them, and again
// when it has lost them. Whoever serves nobody makes those that he needs.
func TestServerKeepsItsConnections(t *testing.T) {
	const size = 5
	pg := pgtest.New(t, pgtest.Options{})
	url := pg.Database(t)
	s := openAt(t, url, Options{Serving: true, PoolSize: size})
	defer closeNow(t, s)
	all := func() {
		t.Helper()
		for end := time.Now().Add(2 * refillEvery); s.Stats().Connections != size; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("there are %d connections, want %d", s.Stats().Connections, size)
			}
		}
	}
	all()
	pg.Kill()
	wantUnavailable(t, s.Check(t.Context())) // which notices
	if n := s.Stats().Connections; n == size {
		t.Errorf("%d connections are left to a server that was killed", n)
	}
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	all()

	command := openAt(t, url, Options{PoolSize: size})
	defer closeNow(t, command)
	if err := command.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := command.Stats().Connections; n != 1 {
		t.Errorf("one read of a command took %d connections", n)
	}
}

// A transaction elsewhere that keeps the counter's row holds creates up for a
// moment and not for ever.
func TestLockedCounter(t *testing.T) {
	url := server.Server(t).Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "BEGIN")
	pgtest.Execute(t, conn, "SELECT 1 FROM counter FOR UPDATE")
	within(t, 4*time.Second, "refusing a create", func() {
		_, err := tryCreate(t.Context(), t, s, "during", "")
		wantUnavailable(t, err)
	})
	within(t, 4*time.Second, "refusing a change", func() { wantUnavailable(t, s.SaveBan(t.Context(), petcat.Ban{Key: 1})) })
	if !s.Stats().Writable {
		t.Error("a lock counts as the database being away")
	}
	pgtest.Execute(t, conn, "ROLLBACK")
	create(t, s, "after")
	if got := storetest.Names(t, s); len(got) != 1 || got[0] != "after" {
		t.Errorf("categories %q", got)
	}
}

// A node that stops in the middle of a change does not hold up the others.
func TestStoppedNodeLetsGo(t *testing.T) {
	url := server.Server(t).Database(t)
	stopping, other := openAt(t, url, Options{}), openAt(t, url, Options{})
	defer closeNow(t, stopping)
	defer closeNow(t, other)
	entered, proceed := make(chan struct{}), make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		failed <- stopping.Change(t.Context(), "stop", func(*store.Tx) error { close(entered); <-proceed; return nil })
	}()
	<-entered
	within(t, 5*time.Second, "the other node's create", func() {
		for start := time.Now(); ; {
			_, err := tryCreate(t.Context(), t, other, "Dogs", "k")
			if err == nil {
				return
			}
			wantUnavailable(t, err)
			if time.Since(start) > time.Minute {
				t.Fatal("the other node is still held up")
			}
		}
	})
	close(proceed)
	wantUnavailable(t, <-failed)
}

// Another node that writes the same idempotency key, and has not committed yet
// when the statement begins, is found all the same.
func TestKeyConflict(t *testing.T) {
	url := server.Server(t).Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	first := create(t, s, "Dogs")
	for name, fingerprint := range map[string][32]byte{"the same": newCategory(t, "Dogs").Fingerprint(), "another": newCategory(t, "Cats").Fingerprint()} {
		conn := pgtest.Connect(t, url)
		pgtest.Execute(t, conn, "BEGIN")
		pgtest.Execute(t, conn, "SELECT 1 FROM counter FOR UPDATE")
		if _, err := conn.Exec(t.Context(), "INSERT INTO idempotency (account_id, key, fingerprint, category_id, created_at) VALUES (1, $1, $2, $3, $4)",
			name, fingerprint[:], int64(first.ID), store.Now(s.clock).UnixMilli()); err != nil {
			t.Fatal(err)
		}
		var created petcat.CreatedCategory
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { created, err = tryCreate(t.Context(), t, s, "Dogs", petcat.IdempotencyKey(name)) })
		awaitLock(t, url)
		pgtest.Execute(t, conn, "COMMIT")
		wg.Wait()
		if name == "another" {
			if petcat.CodeOf(err) != petcat.CodeIdempotencyKeyReused {
				t.Errorf("%s request: %+v, %v", name, created, err)
			}
		} else if err != nil || !created.Replayed || created.Category.ID != first.ID {
			t.Errorf("%s request: %+v, %v", name, created, err)
		}
	}
	if got := storetest.Names(t, s); len(got) != 1 {
		t.Errorf("categories %q, want the first alone", got)
	}
	if next := create(t, s, "Birds"); next.ID != first.ID+1 {
		t.Errorf("the next id is %d", next.ID)
	}
}

// A create that waits for a table, which somebody changes, is refused by the server
// before its caller gives up: it is certain that nothing happened, and nothing
// happens later.
func TestCreateWaitsForATable(t *testing.T) {
	url := server.Server(t).Database(t)
	address, _ := pgtest.StartPooler(t, url)
	control := stalltest.Start(t)
	for name, url := range map[string]string{"direct": url, "behind a pooler": pgtest.ByTCP(url, address)} {
		s := openAt(t, url, Options{})
		defer closeNow(t, s)
		for _, key := range []petcat.IdempotencyKey{"", "k"} {
			for _, table := range []string{"counter", "category"} {
				conn := pgtest.Connect(t, url)
				pgtest.Execute(t, conn, "BEGIN; LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
				what := fmt.Sprintf("%s, with key %q and without the table %s", name, key, table)
				control.InTime(what, writeTimeout-200*time.Millisecond, func() time.Duration {
					began := time.Now()
					_, err := tryCreate(t.Context(), t, s, "Dogs", key)
					if sqlState(err) != "55P03" {
						t.Errorf("%s: %v after %s; want it refused by the server, after 2 s", what, err, time.Since(began))
					}
					return time.Since(began)
				})
				pgtest.Execute(t, conn, "COMMIT")
			}
		}
		if got := storetest.Names(t, s); len(got) > 0 {
			t.Errorf("%s: categories %q, want none", name, got)
		}
	}
}

// A migration that takes its locks in the order that CONTRIBUTING.md tells meets no
// deadlock, whatever creates are under way and queue behind it.
func TestMigrationMeetsNoDeadlock(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	lock := regexp.MustCompile("`(LOCK TABLE [^`]+)`").FindSubmatch(text)
	if lock == nil {
		t.Fatal("CONTRIBUTING.md tells no order of locks")
	}
	url := server.Server(t).Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	for _, keys := range [][2]petcat.IdempotencyKey{{"", ""}, {"k", "l"}} {
		if _, err := tryCreate(t.Context(), t, s, "Dogs", keys[0]); err != nil { // connects, and prepares the statement
			t.Fatal(err)
		}
		underway, migration, watcher := pgtest.Connect(t, url), pgtest.Connect(t, url), pgtest.Connect(t, url)
		pgtest.Execute(t, migration, "SET deadlock_timeout = '10ms'") // it would be ended, and be seen to be
		pgtest.Execute(t, underway, "BEGIN; UPDATE counter SET revision = revision; INSERT INTO category SELECT 1000000, 'x', NULL, 1000000, 1, 0 WHERE false")
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := migration.Exec(t.Context(), "BEGIN; "+string(lock[1])+"; COMMIT"); err != nil {
				t.Errorf("with key %q: the migration: %v", keys[1], err)
			}
		})
		awaitLock(t, url)
		wg.Go(func() {
			if _, err := tryCreate(t.Context(), t, s, "Dogs", keys[1]); err != nil {
				t.Errorf("with key %q: %v", keys[1], err)
			}
		})
		for waiting := 0; waiting < 2; {
			if err := watcher.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waiting); err != nil {
				t.Fatal(err)
			}
		}
		// Otherwise there was a deadlock, which the server notices after a second.
		within(t, 800*time.Millisecond, fmt.Sprintf("the end, with key %q", keys[1]), func() {
			pgtest.Execute(t, underway, "COMMIT")
			wg.Wait()
		})
	}
}

// Who changes the schema by hand, table by table, does not take the locks in the
// order in which creates do: one of the two has to begin again, and it is not the
// caller who does.
func TestCreateSurvivesADeadlock(t *testing.T) {
	url := server.Server(t).Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	for i, key := range []petcat.IdempotencyKey{"", "k"} {
		conn := pgtest.Connect(t, url)
		pgtest.Execute(t, conn, "SET deadlock_timeout = '1min'") // so that the server ends the other
		pgtest.Execute(t, conn, "BEGIN")
		pgtest.Execute(t, conn, "LOCK TABLE category IN ACCESS EXCLUSIVE MODE")
		var created petcat.CreatedCategory
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { created, err = tryCreate(t.Context(), t, s, "Dogs", key) })
		awaitLock(t, url)
		pgtest.Execute(t, conn, "LOCK TABLE counter IN ACCESS EXCLUSIVE MODE")
		pgtest.Execute(t, conn, "COMMIT")
		wg.Wait()
		if want := petcat.CategoryID(i + 1); err != nil || created.Category.ID != want || created.Replayed {
			t.Errorf("with key %q: %+v, %v; want id %d", key, created, err, want)
		}
	}
}

// awaitLock returns when somebody waits for a lock.
func awaitLock(t *testing.T, url string) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	for waiting := false; !waiting; {
		err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A node whose connection is broken while it commits cannot know the outcome,
// says so, and the repetition finds it.
func TestBrokenConnectionsAreNoSuccess(t *testing.T) {
	url := server.Server(t).Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	killer := pgtest.Connect(t, url)
	for client := range 8 {
		wg.Go(func() {
			for n := range 150 {
				name := fmt.Sprintf("%d/%d", client, n)
				for {
					created, err := tryCreate(t.Context(), t, s, name, petcat.IdempotencyKey(name))
					if err == nil {
						if created.Category.Name != name {
							t.Errorf("%s became %+v", name, created)
						}
						break
					}
					if petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
						t.Errorf("%s: %v", name, err)
						return
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, err := killer.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("terminate: %v", err)
				return
			}
			time.Sleep(15 * time.Millisecond)
		}
	}()
	wg.Wait()
	cancel()
	<-done
	if got := len(storetest.Names(t, s)); got != 8*150 {
		t.Errorf("%d categories, want %d", got, 8*150)
	}
}
