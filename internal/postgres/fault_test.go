package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	control := stalltest.Start(t)
	control.Measure("everything at once", 5*time.Second, func() {
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
	control.Measure("everything once more", 3*time.Second, func() {
		for name, fn := range all {
			if err := fn(); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
				t.Errorf("%s while the server hangs: %v", name, err)
			}
		}
	})
	pg.Resume()
	recovered(t, control, all)
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
	writes := map[string]func() error{
		"create": func() error { _, err := tryCreate(t.Context(), t, s, "during", ""); return err },
		"lease": func() error {
			_, err := s.LeaseDays(t.Context(), aDayCall(), []petcat.DayLease{{Account: 1, Day: 1, Want: 1, Quota: 1}})
			return err
		},
	}
	control := stalltest.Start(t)
	control.Repeat(func() {
		pgtest.Execute(t, admin, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
		pgtest.Execute(t, admin, "SELECT pg_reload_conf()")
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
		recovered(t, control, writes)
	})
}

// recovered waits until everything works, within 5 s.
func recovered(t *testing.T, control *stalltest.Control, all map[string]func() error) {
	t.Helper()
	control.Measure("the recovery", 5*time.Second, func() {
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
	control := stalltest.Start(t)
	for name, end := range map[string]func(){"stopped": pg.Stop, "killed": pg.Kill} {
		end()
		control.Measure("a refusal", time.Second, func() { wantUnavailable(t, s.Check(t.Context())) })
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		recovered(t, control, map[string]func() error{"ping": func() error { return s.Check(t.Context()) }})
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

// A node that stops in the middle of a change does not hold up the others.
func TestStoppedNodeLetsGo(t *testing.T) {
	url := server.Database(t)
	control, attempts := stalltest.Start(t), 0
	control.Repeat(func() {
		attempts++
		key := petcat.IdempotencyKey(fmt.Sprint("k", attempts))
		stopping, other := openAt(t, url, Options{}), openAt(t, url, Options{})
		defer closeNow(t, stopping)
		defer closeNow(t, other)
		entered, proceed := make(chan struct{}), make(chan struct{})
		failed := make(chan error, 1)
		go func() {
			failed <- stopping.Change(t.Context(), "stop", func(*store.Tx) error { close(entered); <-proceed; return nil })
		}()
		<-entered
		control.Measure("the other node's create", 5*time.Second, func() {
			for start := time.Now(); ; {
				_, err := tryCreate(t.Context(), t, other, "Dogs", key)
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
	})
}

// A node whose connection is broken while it commits cannot know the outcome,
// says so, and the repetition finds it.
func TestBrokenConnectionsAreNoSuccess(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	killer := pgtest.Connect(t, url)
	var unknown atomic.Int64 // outcomes
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
					if errors.Is(err, petcat.ErrOutcomeUnknown) {
						unknown.Add(1)
					}
					time.Sleep(time.Millisecond) // else the machine has no time for new connections
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
			time.Sleep(rand.N(100 * time.Millisecond)) // a new connection takes some of it
		}
	}()
	wg.Wait()
	cancel()
	<-done
	if got := len(storetest.Names(t, s)); got != 8*150 {
		t.Errorf("%d categories, want %d", got, 8*150)
	}
	if t.Logf("%d outcomes were unknown", unknown.Load()); unknown.Load() == 0 {
		t.Error("no connection was broken while it committed: this shows nothing")
	}
}
