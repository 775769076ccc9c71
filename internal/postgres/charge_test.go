package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
)

// charging is a database whose function charge_quota uses the test's clock.
type charging struct {
	t    *testing.T
	url  string
	conn *pgx.Conn
}

// newCharging replaces the clock by a function of the test: PostgreSQL finds it first, because its
// schema comes first in the search path.
func newCharging(t *testing.T) *charging {
	t.Helper()
	url := server.Database(t)
	c := &charging{t: t, url: url + "&search_path=fake,pg_catalog,public", conn: pgtest.Connect(t, url)}
	c.exec(`CREATE SCHEMA fake`)
	c.exec(`CREATE TABLE fake.time (id bigint PRIMARY KEY, micros bigint)`) // the function must not scan a table
	c.exec(`INSERT INTO fake.time VALUES (1, 0)`)
	c.exec(`CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$
		SELECT to_timestamp(micros / 1000000) + micros % 1000000 * interval '1 microsecond'
		FROM fake.time WHERE id = 1 $$`)
	return c
}

func byAccount(a, b petcat.QuotaCharge) int { return cmp.Compare(a.Account, b.Account) }

func (c *charging) exec(statement string, args ...any) {
	c.t.Helper()
	if _, err := c.conn.Exec(c.t.Context(), statement, args...); err != nil {
		c.t.Fatalf("%s: %v", statement, err)
	}
}

func (c *charging) query(into any, query string, args ...any) {
	c.t.Helper()
	if err := c.conn.QueryRow(c.t.Context(), query, args...).Scan(into); err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
}

// accountQuota is an account's state in the reference.
type accountQuota struct {
	now, minuteUsed, dayUsed int64
}

// charge is the reference for charge_quota.
func (a *accountQuota) charge(q petcat.QuotaCharge, now, history int64) petcat.QuotaCount {
	const minute, day = 60_000_000, 86_400_000_000
	if a.now/minute != now/minute {
		if a.now/day != now/day {
			a.dayUsed = 0
		}
		a.minuteUsed, a.dayUsed = 0, max(a.dayUsed, history)
	}
	a.now = now
	allowed := !q.Peek && a.minuteUsed < q.Quota.PerMinute && a.dayUsed < q.Quota.PerDay
	c := petcat.QuotaCount{Now: now * 1000, Allowed: allowed}
	if c.Allowed {
		a.minuteUsed++
		a.dayUsed++
	}
	c.MinuteUsed, c.DayUsed = a.minuteUsed, a.dayUsed
	return c
}

// TestChargeAgainstReference compares the function with the reference, over minutes and days, with
// higher numbers in the usage history and with counters that a crash emptied.
func TestChargeAgainstReference(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			c := newCharging(t)
			s := openAt(t, c.url, Options{})
			defer closeNow(t, s)
			r := rand.New(rand.NewPCG(seed, 1))
			now := time.Date(2026, 3, 14, 23, 50, 0, 0, time.UTC).UnixMicro()
			all := make(map[petcat.AccountID]accountQuota)
			history := make(map[petcat.AccountID]map[int64]int64) // by day
			for id := range petcat.AccountID(4) {
				history[id] = make(map[int64]int64)
			}
			for step := range 400 {
				now += r.Int64N(20_000_000)
				if r.IntN(20) == 0 {
					now += r.Int64N(20_000) * 1_000_000
				}
				if r.IntN(30) == 0 { // the clock is set back
					now -= r.Int64N(5_000) * 1_000_000
				}
				if r.IntN(40) == 0 { // a crash
					c.exec(`DELETE FROM spent`)
					clear(all)
				}
				if id := petcat.AccountID(r.IntN(4)); r.IntN(10) == 0 { // a flush
					hour, n := now/3_600_000_000, r.Int64N(40)
					c.exec(`INSERT INTO usage VALUES ($2, $1, $3, 0, 0, 0, 0, 0, 0)
						ON CONFLICT (account_id, hour) DO UPDATE SET requests = usage.requests + $3`,
						int64(id), hour, n)
					history[id][hour/24] += n
				}
				c.exec(`UPDATE fake.time SET micros = $1`, now)
				charges := make([]petcat.QuotaCharge, 1+r.IntN(100))
				for i := range charges {
					charges[i] = petcat.QuotaCharge{
						Account: petcat.AccountID(r.IntN(4)),
						Quota: petcat.Quota{
							PerMinute: r.Int64N(150),
							PerDay:    200 + r.Int64N(900),
						},
						Peek: r.IntN(10) == 0,
					}
				}
				slices.SortStableFunc(charges, byAccount)
				got, err := s.Charge(t.Context(), charges)
				if err != nil {
					t.Fatal(err)
				}
				called := make(map[petcat.AccountID]accountQuota)
				for i, q := range charges {
					a, ok := called[q.Account]
					if !ok {
						a = all[q.Account]
					}
					want := a.charge(q, now, history[q.Account][now/86_400_000_000])
					want.Newest = got[i].Newest
					if got[i] != want {
						t.Fatalf("step %d, charge %d of %+v: %+v, want %+v", step, i, q, got[i], want)
					}
					called[q.Account] = a
					if want.Allowed { // a rejection does not write
						all[q.Account] = a
					}
				}
			}
			var rows, accounts int
			c.query(&rows, `SELECT count(*) FROM spent`)
			c.query(&accounts, `SELECT count(DISTINCT account_id) FROM spent`)
			if rows != accounts || rows == 0 {
				t.Errorf("%d rows of %d accounts, want one for each", rows, accounts)
			}
		})
	}
}

// during runs a statement within each call of charge_quota: after it has read the row of an
// account, when it reads the clock.
func (c *charging) during(statement string) {
	c.t.Helper()
	c.exec(`CREATE OR REPLACE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS
		$$ BEGIN ` + statement + `; RETURN pg_catalog.clock_timestamp(); END $$`)
}

func oneCharge(account petcat.AccountID) []petcat.QuotaCharge {
	return []petcat.QuotaCharge{{Account: account, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}}}
}

func isState(err error, state string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == state
}

func wantState(t *testing.T, err error, state string) {
	t.Helper()
	if !isState(err, state) {
		t.Errorf("the error is %v, want SQLSTATE %s", err, state)
	}
}

// TestChargeRejectsUnorderedAccounts: two calls with different orders would deadlock.
func TestChargeRejectsUnorderedAccounts(t *testing.T) {
	s := openAt(t, server.Database(t), Options{})
	defer closeNow(t, s)
	_, err := s.Charge(t.Context(), append(oneCharge(2), oneCharge(1)...))
	wantState(t, err, "P0001")
}

// TestChargeDetectsUnlockedWrite: a write of an account's row without its lock makes the call fail.
// Otherwise a charge would be lost.
func TestChargeDetectsUnlockedWrite(t *testing.T) {
	c := newCharging(t)
	s := openAt(t, c.url, Options{})
	defer closeNow(t, s)
	charge := func() error {
		_, err := s.Charge(t.Context(), oneCharge(1))
		return err
	}
	if err := charge(); err != nil {
		t.Fatal(err)
	}
	c.during(`UPDATE public.spent SET day_used = day_used + 1`)
	wantState(t, charge(), "P0001")
}

// TestChargeSettings: the settings of the function hold while it runs, and synchronous_commit until
// the commit.
func TestChargeSettings(t *testing.T) {
	c := newCharging(t)
	c.exec(`CREATE TABLE fake.seen (text text)`)
	c.during(`INSERT INTO fake.seen SELECT concat_ws(' ', current_setting('enable_seqscan'),
		current_setting('enable_bitmapscan'), current_setting('plan_cache_mode'), current_setting('lock_timeout'))`)
	c.exec(`SET search_path = fake, pg_catalog, public`)
	c.exec(`BEGIN`)
	c.exec(`SELECT charge_quota('{1}', '{60}', '{1000}')`)
	var seen, commit string
	c.query(&seen, `SELECT text FROM fake.seen`)
	c.query(&commit, `SELECT current_setting('synchronous_commit')`)
	c.exec(`ROLLBACK`)
	if want := "off off force_generic_plan 200ms"; seen != want || commit != "off" {
		t.Errorf("the settings are %s, want %s, and synchronous_commit is %s", seen, want, commit)
	}
}

// TestChargeLocks: a call locks each account, and a rejection does not take a transaction id.
func TestChargeLocks(t *testing.T) {
	c := newCharging(t)
	c.exec(`SET search_path = fake, pg_catalog, public`)
	c.exec(`SELECT charge_quota('{1,2}', '{1,1}', '{10,10}')`)
	c.exec(`BEGIN`)
	c.exec(`SELECT charge_quota('{1,1,2}', '{1,1,1}', '{10,10,10}')`)
	var locks, written int64
	c.query(&locks, `SELECT count(DISTINCT (classid, objid)) FROM pg_locks
		WHERE locktype = 'advisory' AND pid = pg_backend_pid()`)
	c.query(&written, `SELECT count(pg_current_xact_id_if_assigned())`)
	c.exec(`ROLLBACK`)
	if locks != 2 || written != 0 {
		t.Errorf("a call for two accounts with spent quotas took %d locks and wrote %d times", locks, written)
	}
}

// TestChargeOfLockedTable: the error names another session's lock. While an account is locked, only its
// charges fail.
func TestChargeOfLockedTable(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	for lock, want := range map[string]string{
		`SELECT charge_quota('{1}', '{60}', '{1000}')`: "another call holds the lock of an account",
		`LOCK spent`: "another session holds a lock on the table spent or usage",
		`LOCK usage`: "another session holds a lock on the table spent or usage",
	} {
		conn := pgtest.Connect(t, url)
		pgtest.Execute(t, conn, `BEGIN`)
		pgtest.Execute(t, conn, lock)
		_, err := s.Charge(t.Context(), oneCharge(1))
		if !errors.Is(err, petcat.ErrAccountHeld) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", lock, err, want)
		}
		if _, err := s.Charge(t.Context(), oneCharge(2)); strings.Contains(lock, "'{1}'") && err != nil {
			t.Errorf("another account: %v", err)
		}
		pgtest.Execute(t, conn, `ROLLBACK`)
	}
	if counts, err := s.Charge(t.Context(), oneCharge(1)); err != nil || counts[0].MinuteUsed != 1 {
		t.Errorf("after the locks: %+v, %v; want the first charge", counts, err)
	}
}

// TestChargeMovesTheRow: an account has one row. Its key changes every 64 requests, so that the
// index skips the dead versions that a long snapshot keeps.
func TestChargeMovesTheRow(t *testing.T) {
	c := newCharging(t)
	s := openAt(t, c.url, Options{})
	defer closeNow(t, s)
	quota := petcat.Quota{PerMinute: 1_000, PerDay: 1_000}
	charges := slices.Repeat([]petcat.QuotaCharge{{Account: 1, Quota: quota}}, 50)
	for calls := range int64(6) {
		if _, err := s.Charge(t.Context(), charges); err != nil {
			t.Fatal(err)
		}
		var rows, step int64
		c.query(&rows, `SELECT count(*) FROM spent`)
		c.query(&step, `SELECT max(step) FROM spent`)
		if used := 50 * (calls + 1); rows != 1 || step != used/64 {
			t.Errorf("after %d requests: %d rows, step %d; want 1 and %d", used, rows, step, used/64)
		}
	}
}

// TestChargeInParallel: all nodes together allow exactly an account's quota, and calls do not fail.
func TestChargeInParallel(t *testing.T) {
	c := newCharging(t)
	c.exec(`UPDATE fake.time SET micros = 1800000000000000`)
	const accounts, quota, senders, calls = 20, 60, 8, 40
	var allowed [accounts]atomic.Int64
	var wg sync.WaitGroup
	for sender := range senders {
		s := openAt(t, c.url, Options{})
		defer closeNow(t, s)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(sender), 1))
			for range calls {
				charges := make([]petcat.QuotaCharge, 1+r.IntN(64))
				for i := range charges {
					charges[i].Account = petcat.AccountID(r.IntN(accounts))
					charges[i].Quota = petcat.Quota{PerMinute: quota, PerDay: 1_000}
				}
				slices.SortFunc(charges, byAccount)
				counts, err := s.Charge(t.Context(), charges)
				for isState(err, "55P03") { // a lock timeout, on a busy machine
					counts, err = s.Charge(t.Context(), charges)
				}
				if err != nil {
					t.Error(err)
				}
				for i, count := range counts {
					if count.Allowed {
						allowed[charges[i].Account].Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	for id := range allowed {
		if n := allowed[id].Load(); n != quota {
			t.Errorf("account %d was allowed %d times, want %d", id, n, quota)
		}
	}
}

// TestChargeReturnsNewestRevision: the revision is not older than any create that was acknowledged
// before the charge was sent.
func TestChargeReturnsNewestRevision(t *testing.T) {
	url := server.Database(t)
	s, other := openAt(t, url, Options{}), openAt(t, url, Options{})
	defer closeNow(t, s)
	defer closeNow(t, other)
	var acknowledged atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 50 {
				_, err := tryCreate(t.Context(), t, other, "Dogs", "")
				if err != nil {
					t.Error(err)
				}
				acknowledged.Add(1) // a create is a revision at least
			}
		})
	}
	for charging := range 4 {
		wg.Go(func() {
			for range 100 {
				before := acknowledged.Load()
				counts, err := s.Charge(t.Context(), oneCharge(petcat.AccountID(charging)))
				if err != nil || int64(counts[0].Newest) < before {
					t.Errorf("the newest revision is %+v, %v, after %d creates", counts, err, before)
				}
			}
		})
	}
	wg.Wait()
}

// TestVacuuming: it reports an open snapshot, which keeps dead rows.
func TestVacuuming(t *testing.T) {
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	if transactions, _, err := s.Vacuuming(t.Context()); err != nil || transactions <= 0 {
		t.Errorf("%d transactions, %v", transactions, err)
	}
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	pgtest.Execute(t, conn, "SELECT count(*) FROM spent")
	if _, snapshot, err := s.Vacuuming(t.Context()); err != nil || snapshot <= 0 {
		t.Errorf("with an open snapshot: %s, %v", snapshot, err)
	}
	pgtest.Execute(t, conn, "ROLLBACK")
}
