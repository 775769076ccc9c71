package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/pgtest"
	"petcat/internal/store"
	"petcat/internal/storetest"
)

// hasty gives up soon: a database that works may be too slow for it, so whoever uses it
// tries again.
func hasty() patience {
	p := patient()
	p.connect, p.read, p.row, p.write = time.Second, 200*time.Millisecond, 200*time.Millisecond, 300*time.Millisecond
	return p
}

// eventually calls something until it succeeds.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// commit is how the transaction of a write ends, and is in no other request. That is so
// while statements are not prepared.
const commit = "commit\x00"

// calls are one of each kind.
func calls(t *testing.T, s *Store) map[string]func() error {
	t.Helper()
	return map[string]func() error{
		"create": func() error { _, err := tryCreate(t.Context(), t, s, "Dogs", ""); return err },
		"feed": func() error {
			_, err := s.CategoriesSince(t.Context(), 0, func(petcat.RevisedCategory) error { return nil })
			return err
		},
		"changes": func() error { _, err := s.AccessChangesSince(t.Context(), 0); return err },
		"change":  func() error { return s.Change(t.Context(), "change", func(*store.Tx) error { return nil }) },
		"each":    func() error { return s.EachAccount(t.Context(), func(petcat.Account) error { return nil }) },
		"ping":    func() error { _, err := s.Nodes(t.Context()); return err },
	}
}

// A server that hangs makes everything fail, and everything works again when it goes on.
func TestHungServer(t *testing.T) {
	network, url := newNetwork(t, server.Database(t))
	impatient := hasty()
	var s *Store
	eventually(t, "open", func() (err error) { s, err = tryOpen(t, url, Options{Serving: true, patience: &impatient}); return err })
	defer closeNow(t, s)
	all := calls(t, s)
	for name, call := range all {
		eventually(t, name, call)
	}
	network.fail(func([]byte) fate { return hangs })
	var wg sync.WaitGroup
	for range 50 { // far more than there are connections
		for name, call := range all {
			wg.Go(func() {
				if err := call(); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
					t.Errorf("%s while the server hangs: %v", name, err)
				}
			})
		}
	}
	wg.Wait()
	if stats := s.Stats(); s.reads.err() == nil || s.writes.err() == nil || stats.Waiting != 0 {
		t.Errorf("stats %+v, reads %v, writes %v while the server hangs", stats, s.reads.err(), s.writes.err())
	}
	network.heal()
	for name, call := range all {
		eventually(t, name+" afterwards", call)
	}
}

// Commits that hang, as those that wait for a standby, fail when they took too long. Reads
// do not suffer for it, however many such commits there are.
func TestReadsGoOnWhileCommitsHang(t *testing.T) {
	network, url := newNetwork(t, server.Database(t))
	p := patient()
	p.write = 300 * time.Millisecond
	s := openAt(t, url+"&default_query_exec_mode=exec", Options{Serving: true, patience: &p})
	defer closeNow(t, s)
	all := calls(t, s)
	writes := map[string]func() error{"create": all["create"], "change": all["change"]}
	eventually(t, "create", writes["create"])
	eventually(t, "connections", func() error { return haveConnections(s, defaultPoolSize+more) }) // a busy machine is slow to make new ones
	network.fail(func(request []byte) fate {
		if bytes.Contains(request, []byte(commit)) {
			return hangs
		}
		return passes
	})
	written := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 * defaultPoolSize {
		for name, write := range writes {
			wg.Go(func() {
				if err := write(); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
					t.Errorf("%s while commits hang: %v", name, err)
				}
			})
		}
	}
	go func() { wg.Wait(); close(written) }()
	for done := false; !done; {
		if err := all["feed"](); err != nil || s.reads.err() != nil {
			t.Fatalf("a read while commits hang: %v, %v", err, s.reads.err())
		}
		select {
		case <-written:
			done = true
		default:
		}
	}
	if s.writes.err() == nil {
		t.Error("the database counts as writable while commits hang")
	}
	network.heal()
	for name, write := range writes {
		eventually(t, name+" afterwards", write)
	}
}

// more are the connections beside those that pool_max_conns bounds.
const more = createConnections + chargeConnections

func haveConnections(s *Store, want int) error {
	if n := s.Stats().Connections; n != want {
		return fmt.Errorf("there are %d connections, want %d", n, want)
	}
	return nil
}

// breakAll ends all connections of a database but our own, as a restart does.
func breakAll(t *testing.T, url string) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	const others = " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	var pids []int32
	if err := conn.QueryRow(t.Context(), "SELECT array_agg(pid), count(pg_terminate_backend(pid))"+others).Scan(&pids, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of all connections", func() error {
		var left int
		err := conn.QueryRow(t.Context(), "SELECT count(*)"+others+" AND pid = ANY($1)", pids).Scan(&left)
		if err == nil && left > 0 {
			err = errors.New("some are left")
		}
		return err
	})
}

// After a restart, nothing fails because of connections that it broke while they were idle.
func TestBrokenIdleConnections(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{Serving: true})
	defer closeNow(t, s)
	for range 2 {
		var wg sync.WaitGroup
		for name, call := range calls(t, s) {
			for range defaultPoolSize {
				wg.Go(func() {
					if err := call(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
		}
		wg.Wait()
		breakAll(t, url)
	}
	for _, name := range []string{"change", "create", "ping"} {
		if err := calls(t, s)[name](); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server has all connections of its pool before anybody needs them, and again
// when it has lost them. Whoever serves nobody makes those that he needs.
func TestServerKeepsItsConnections(t *testing.T) {
	const size = 5
	url := server.Database(t)
	s := openAt(t, fmt.Sprintf("%s&pool_max_conns=%d", url, size), Options{Serving: true})
	defer closeNow(t, s)
	all := func() error { return haveConnections(s, size+more) }
	eventually(t, "connections", all)
	breakAll(t, url)
	if err := s.Check(t.Context()); err != nil { // which notices
		t.Fatal(err)
	}
	eventually(t, "connections afterwards", all)

	command := openAt(t, url, Options{})
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
	p := patient()
	p.idle = 100 * time.Millisecond
	stopping, other := openAt(t, url, Options{patience: &p}), openAt(t, url, Options{})
	defer closeNow(t, stopping)
	defer closeNow(t, other)
	entered, proceed := make(chan struct{}), make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		failed <- stopping.Change(t.Context(), "stop", func(*store.Tx) error { close(entered); <-proceed; return nil })
	}()
	<-entered
	create(t, other, "Dogs")
	close(proceed)
	wantUnavailable(t, <-failed)
}

// Of a connection that breaks while a write is under way, nobody knows the outcome. The
// store says so, and the repetition with the same key makes one category in any case.
func TestUnknownOutcomes(t *testing.T) {
	network, url := newNetwork(t, server.Database(t))
	s := openAt(t, url+"&default_query_exec_mode=exec", Options{})
	defer closeNow(t, s)
	for name, tt := range map[string]struct {
		fate fate
		done bool
	}{"Dogs": {breaks, false}, "Cats": {breaksLate, true}} {
		network.failOne(commit, tt.fate)
		_, err := tryCreate(t.Context(), t, s, name, petcat.IdempotencyKey(name))
		wantUnavailable(t, err)
		if !errors.Is(err, petcat.ErrOutcomeUnknown) {
			t.Errorf("%s: %v, want that the outcome is unknown", name, err)
		}
		again, err := tryCreate(t.Context(), t, s, name, petcat.IdempotencyKey(name))
		if err != nil || again.Replayed != tt.done || again.Category.Name != name {
			t.Errorf("the repetition of %s: %+v, %v", name, again, err)
		}

		network.failOne(commit, tt.fate)
		if _, err = s.CreateAccount(t.Context(), "cli:ada", petcat.AccountName(name), mustSubscription(t)); !errors.Is(err, petcat.ErrOutcomeUnknown) {
			t.Errorf("the account %s: %v, want that the outcome is unknown", name, err)
		}
		if _, err := s.FindAccount(t.Context(), name); (err == nil) != tt.done {
			t.Errorf("the account %s afterwards: %v", name, err)
		}
	}
	if got := storetest.Names(t, s); len(got) != 2 {
		t.Errorf("categories %q, want each once", got)
	}
}

// Callers who go away while a read is under way cost no connections.
func TestCallersWhoGoAway(t *testing.T) {
	const size = 3
	url := server.Database(t)
	s := openAt(t, url+"&pool_max_conns=6", Options{})
	defer closeNow(t, s)
	observer, blocker := pgtest.Connect(t, url), pgtest.Connect(t, url)
	block := func(leave bool) {
		pgtest.Execute(t, blocker, "BEGIN; LOCK TABLE api_keys")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all sync.WaitGroup
		for range 5 * size {
			all.Go(func() { _, _ = s.FindKeys(ctx, []petcat.KeyHash{{}}) })
		}
		awaitLocks(t, url, size)
		if leave {
			cancel()
		}
		pgtest.Execute(t, blocker, "ROLLBACK")
		all.Wait()
	}
	newest := func() (begun time.Time) {
		const query = `SELECT max(backend_start) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petcat'`
		if err := observer.QueryRow(t.Context(), query).Scan(&begun); err != nil {
			t.Fatal(err)
		}
		return begun
	}
	block(false) // all connections are there now
	before := newest()
	block(true)
	if after := newest(); after != before || s.Stats().Connections != size || s.reads.err() != nil {
		t.Errorf("a new connection was made at %s, after %s: %+v", after, before, s.Stats())
	}
}
