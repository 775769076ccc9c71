package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

// hasty returns short timeouts. Even a healthy database may be too slow for them, so tests retry.
func hasty() timeouts {
	p := patient()
	p.connect, p.read, p.row, p.write = time.Second, 200*time.Millisecond, 200*time.Millisecond, 300*time.Millisecond
	return p
}

// eventually retries until try succeeds.
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

// commit commits the transaction of a write. Without prepared statements, no other request contains it.
const commit = "commit\x00"

// calls returns one call of each kind.
func calls(t *testing.T, s *stored) map[string]func() error {
	t.Helper()
	return map[string]func() error{
		"create": func() error { _, err := tryCreate(t.Context(), t, s, "Dogs", ""); return err },
		"feed": func() error {
			return s.CategoriesSince(t.Context(), 0, func(petcat.RevisedCategory) error { return nil })
		},
		"changes": func() error { _, err := s.AccessChangesSince(t.Context(), 0); return err },
		"change":  func() error { return s.Change(t.Context(), "change", func(*store.Tx) error { return nil }) },
		"each":    func() error { return s.EachAccount(t.Context(), func(petcat.Account) error { return nil }) },
		"ping":    func() error { _, err := s.Nodes(t.Context()); return err },
	}
}

// TestHungServer: all calls fail while the server hangs, and work when it continues.
func TestHungServer(t *testing.T) {
	network, url := newNetwork(t, server.Database(t))
	impatient := hasty()
	var s *stored
	eventually(t, "open", func() (err error) {
		s, err = tryOpen(t, url, Options{Serving: true, timeouts: &impatient})
		return err
	})
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

// TestReadsWhileCommitsHang: commits that hang, for example because a standby is unreachable, time
// out. They do not delay reads.
func TestReadsWhileCommitsHang(t *testing.T) {
	network, url := newNetwork(t, server.Database(t))
	p := patient()
	p.write = 300 * time.Millisecond
	s := openAt(t, url+"&default_query_exec_mode=exec", Options{Serving: true, timeouts: &p})
	defer closeNow(t, s)
	all := calls(t, s)
	writes := map[string]func() error{"create": all["create"], "change": all["change"]}
	eventually(t, "create", writes["create"])
	eventually(t, "connections", func() error { return haveConnections(s, defaultPoolSize+more) })
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
		t.Error("the check succeeds while commits hang")
	}
	network.heal()
	for name, write := range writes {
		eventually(t, name+" afterwards", write)
	}
}

// more is the number of connections outside of pool_max_conns.
const more = createConnections + chargeConnections

func haveConnections(s *stored, want int) error {
	if n := s.Stats().Connections; n != want {
		return fmt.Errorf("there are %d connections, want %d", n, want)
	}
	return nil
}

// breakAll closes all other connections of a database, as a restart does.
func breakAll(t *testing.T, url string) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	const end = `SELECT array_agg(pid), count(pg_terminate_backend(pid))`
	const others = ` FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	var pids []int32
	if err := conn.QueryRow(t.Context(), end+others).Scan(&pids, nil); err != nil {
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

// TestBrokenIdleConnections: after a server restart, calls do not fail because of idle connections.
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

// TestChargesAfterIdleConnectionsWereClosed: a charge is never repeated, so the connections are checked
// before it is sent. All of them are there, and all were closed, by the server or on the way.
func TestChargesAfterIdleConnectionsWereClosed(t *testing.T) {
	direct := server.Database(t)
	network, url := newNetwork(t, direct)
	s := openAt(t, url, Options{Serving: true})
	defer closeNow(t, s)
	for name, closeAll := range map[string]func(){
		"by the server": func() { breakAll(t, direct) },
		"on the way":    network.disconnect,
	} {
		eventually(t, "connections", func() error { return haveConnections(s, defaultPoolSize+more) })
		closeAll()
		eventually(t, "the end of the idle connections", func() error { return allHeard(t, s.charges) })
		var all sync.WaitGroup
		for range 2 * chargeConnections {
			all.Go(func() {
				if _, err := s.Charge(t.Context(), oneCharge(1)); err != nil {
					t.Errorf("closed %s: %v", name, err)
				}
			})
		}
		all.Wait()
	}
}

// allHeard returns an error until each idle connection has a message or was closed.
func allHeard(t *testing.T, p pool) (err error) {
	t.Helper()
	for _, c := range p.AcquireAllIdle(t.Context()) {
		if !heard(c.Conn().PgConn().Conn()) {
			err = errors.New("nothing has arrived")
		}
		c.Release()
	}
	return err
}

// unsent is a connection whose next write fails before anything is sent.
type unsent struct {
	net.Conn

	fails *atomic.Bool
}

func (c unsent) Write(b []byte) (int, error) {
	if c.fails.CompareAndSwap(true, false) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// TestUnsentCharge: a charge that was certainly not sent is sent on another connection.
func TestUnsentCharge(t *testing.T) {
	s := openAt(t, server.Database(t), Options{})
	defer closeNow(t, s)
	var fails atomic.Bool
	config := s.charges.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return unsent{c, &fails}, err
	}
	s.charges.Close()
	var err error
	if s.charges, err = newPool(t.Context(), config, Options{}, chargeConnections); err != nil {
		t.Fatal(err)
	}
	for used := range int64(3) {
		counts, err := s.Charge(t.Context(), oneCharge(1))
		if err != nil || counts[0].MinuteUsed != used+1 && used > 0 {
			t.Errorf("charge %d: %+v, %v", used+1, counts, err)
		}
		fails.Store(true)
	}
}

// TestServerKeepsItsConnections: a node opens all connections of its pools in advance, and replaces
// lost ones. A command opens only the connections that it needs.
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

// TestStoppedNodeReleasesLocks: a node that hangs in a transaction does not block other nodes.
func TestStoppedNodeReleasesLocks(t *testing.T) {
	url := server.Database(t)
	stopping, other := openAt(t, url, Options{}), openAt(t, url, Options{})
	defer closeNow(t, stopping)
	defer closeNow(t, other)
	// Not before it is open: opening takes several statements, and a busy machine may pause between two
	// of them for as long. A change begins with one request.
	hurried := patient()
	hurried.idle = 100 * time.Millisecond
	stopping.settings = hurried.settings()
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

// TestUnknownOutcomes: if a connection breaks during a write, the error reports an unknown outcome,
// and a retry with the same key creates one category in any case.
func TestUnknownOutcomes(t *testing.T) {
	network, url := newNetwork(t, server.Database(t))
	s := openAt(t, url+"&default_query_exec_mode=exec", Options{})
	defer closeNow(t, s)
	changes := 0
	s.OnAccessChange(func(context.Context) { changes++ })
	for name, tt := range map[string]struct {
		fate fate
		done bool
	}{"Dogs": {breaks, false}, "Cats": {breaksLate, true}} {
		network.failOne(commit, tt.fate)
		_, err := tryCreate(t.Context(), t, s, name, petcat.IdempotencyKey(name))
		wantUnavailable(t, err)
		if !errors.Is(err, petcat.ErrOutcomeUnknown) {
			t.Errorf("%s: %v, want an unknown outcome", name, err)
		}
		again, err := tryCreate(t.Context(), t, s, name, petcat.IdempotencyKey(name))
		if err != nil || again.Replayed != tt.done || again.Category.Name != name {
			t.Errorf("the retry of %s: %+v, %v", name, again, err)
		}

		network.failOne(commit, tt.fate)
		_, err = s.CreateAccount(t.Context(), petcat.By("cli:ada"), petcat.NewAccount{
			Name:         petcat.AccountName(name),
			Subscription: mustSubscription(t),
		})
		if !errors.Is(err, petcat.ErrOutcomeUnknown) {
			t.Errorf("the account %s: %v, want an unknown outcome", name, err)
		}
		if _, err := s.FindAccount(t.Context(), name); (err == nil) != tt.done {
			t.Errorf("the account %s afterwards: %v", name, err)
		}
	}
	if changes != 2 {
		t.Errorf("%d of the 2 accounts were announced, which may exist", changes)
	}
	if got := storetest.Names(t, s); len(got) != 2 {
		t.Errorf("categories %q, want each once", got)
	}
}

// TestIgnoredError: a transaction whose operation ignores the error of a statement does not commit.
func TestIgnoredError(t *testing.T) {
	s := openAt(t, server.Database(t), Options{})
	defer closeNow(t, s)
	err := s.Change(t.Context(), "ignore", func(tx *store.Tx) error {
		for range 2 {
			_, _ = tx.Exec(`INSERT INTO meta (name, value) VALUES ('twice', '')`)
		}
		return nil
	})
	if err == nil || errors.Is(err, petcat.ErrOutcomeUnknown) {
		t.Errorf("got %v, want that nothing was committed", err)
	}
	if err := s.SetSharedText(t.Context(), "next", "x"); err != nil {
		t.Error(err)
	}
}

// TestTimeoutBetweenStatements: a write that times out between two statements is also unavailable.
func TestTimeoutBetweenStatements(t *testing.T) {
	s := openAt(t, server.Database(t), Options{})
	defer closeNow(t, s)
	ctx, end := context.WithCancelCause(t.Context())
	wantUnavailable(t, s.Change(ctx, "change", func(tx *store.Tx) error {
		end(errNoResponse)
		_, err := tx.Exec("SELECT 1")
		return err
	}))
}

// TestRollbackWithoutResponse: a rollback without a response opens the breaker. The caller gets the error
// of the operation.
func TestRollbackWithoutResponse(t *testing.T) {
	s := openAt(t, server.Database(t), Options{})
	defer closeNow(t, s)
	ctx, end := context.WithCancelCause(t.Context())
	rejected := errors.New("rejected")
	err := s.Change(ctx, "change", func(*store.Tx) error {
		end(errNoResponse)
		return rejected
	})
	if !errors.Is(err, rejected) {
		t.Errorf("got %v, want the error of the operation", err)
	}
	if s.writes.err() == nil {
		t.Error("the breaker is closed")
	}
}

// TestCanceledWaitForStandby: PostgreSQL commits if a wait for a synchronous standby is canceled,
// with only a warning, even if the role suppresses warnings. A failover would lose the write, so it
// is not acknowledged.
func TestCanceledWaitForStandby(t *testing.T) {
	own := pgtest.New(t)
	url := own.Database(t)
	defer own.Stop() // otherwise DROP DATABASE would wait for the standby
	s := openAt(t, url+"&client_min_messages=error", Options{})
	defer closeNow(t, s)
	own.Execute(t, url, "ALTER SYSTEM SET synchronous_standby_names = 'missing'")
	own.Stop()
	if err := own.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := tryCreate(t.Context(), t, s, "Dogs", "")
		failed <- err
	}()
	admin := pgtest.Connect(t, url)
	eventually(t, "a commit waits for the standby", func() error {
		const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
		var canceled bool
		return admin.QueryRow(t.Context(), cancel).Scan(&canceled)
	})
	err := <-failed
	wantUnavailable(t, err)
	if !errors.Is(err, petcat.ErrOutcomeUnknown) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if err := s.AddUsage(t.Context(), petcat.UsageBatch{Node: "a", Number: 1}); err != nil { // not for a standby
		t.Error(err)
	}
}

// TestMissingStandby: after a commit that timed out, a check says that commits wait for a synchronous standby.
func TestMissingStandby(t *testing.T) {
	own := pgtest.New(t)
	url := own.Database(t)
	defer own.Stop() // otherwise DROP DATABASE would wait for the standby
	p := patient()
	s := openAt(t, url, Options{timeouts: &p})
	defer closeNow(t, s)
	own.Execute(t, url, "ALTER SYSTEM SET synchronous_standby_names = 'missing'")
	own.Execute(t, url, "SELECT pg_reload_conf()")
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("before a commit: %v", err)
	}
	p.write = 200 * time.Millisecond
	var err error
	eventually(t, "the setting", func() error { // PostgreSQL applies it a moment after the reload
		if _, err = tryCreate(t.Context(), t, s, "Dogs", ""); err == nil {
			return errors.New("a category was created")
		}
		return nil
	})
	wantUnavailable(t, err)
	wantOpenError(t, s.Check(t.Context()), "wait for a synchronous standby; start it")
}

// TestLockOfAnotherSession: after a call that timed out, a check reports the table that another session
// locks.
func TestLockOfAnotherSession(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "BEGIN; LOCK TABLE counter")
	var all sync.WaitGroup
	all.Go(func() { _, _ = tryCreate(t.Context(), t, s, "Dogs", "") })
	awaitLock(t, url)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Charge(ctx, oneCharge(1)); err == nil {
		t.Error("a charge succeeds")
	}
	wantOpenError(t, s.Check(t.Context()), "another session holds a lock on the table counter")
	pgtest.Execute(t, conn, "COMMIT")
	all.Wait()
}

// TestStopWhileServerHangs: a node that makes a scheduled backup can stop while the server hangs.
func TestStopWhileServerHangs(t *testing.T) {
	network, url := newNetwork(t, server.Database(t))
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Alone(ctx, store.BackupJob, func(context.Context) error { // only a hang matters
			network.fail(func([]byte) fate { return hangs })
			stop()
			return nil
		})
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("it waits for the server")
		network.heal()
		<-ended
	}
}

// TestLostBackupLock: if the connection with the lock is lost, a scheduled backup fails at once, because
// another node may begin one.
func TestLostBackupLock(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context) error{
		"while it runs": func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(30 * time.Second):
				t.Error("the backup does not notice it")
			}
			return ctx.Err()
		},
		"at its end": func(context.Context) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			url := server.Database(t)
			s, other := openAt(t, url, Options{}), openAt(t, url, Options{})
			defer closeNow(t, s)
			defer closeNow(t, other)
			err := s.Alone(t.Context(), store.BackupJob, func(ctx context.Context) error {
				breakAll(t, url)
				eventually(t, "the backup of another node", func() error {
					begun := false
					err := other.Alone(t.Context(), store.BackupJob, func(context.Context) error { begun = true; return nil })
					if err == nil && !begun {
						err = errors.New("the lock is not free")
					}
					return err
				})
				return wait(ctx)
			})
			lost := err != nil && strings.Contains(err.Error(), "connection with the lock of a scheduled backup")
			if !lost || petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestCanceledReads: canceled reads do not cost connections.
func TestCanceledReads(t *testing.T) {
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
		const query = `SELECT max(backend_start) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'petcat'`
		if err := observer.QueryRow(t.Context(), query).Scan(&begun); err != nil {
			t.Fatal(err)
		}
		return begun
	}
	block(false) // all connections are there now
	before := newest()
	block(true)
	if after := newest(); after != before || s.Stats().Connections != size || s.reads.err() != nil {
		t.Errorf("a new connection was opened at %s, after %s: %+v", after, before, s.Stats())
	}
}
