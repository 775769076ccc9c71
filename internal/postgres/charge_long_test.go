//go:build long

package postgres

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
)

// The long runs of charge_quota need load or time, and print their results.

// seconds returns PETCAT_SECONDS, or a default.
func seconds(otherwise int) time.Duration {
	if n, err := strconv.Atoi(os.Getenv("PETCAT_SECONDS")); err == nil {
		otherwise = n
	}
	return time.Duration(otherwise) * time.Second
}

// decisions returns the number of decided charges of an account per second, with two concurrent
// calls.
func decisions(t *testing.T, s *stored, account petcat.AccountID, d time.Duration) float64 {
	t.Helper()
	quota := petcat.Quota{PerMinute: petcat.MaxQuota, PerDay: petcat.MaxQuota}
	charges := slices.Repeat([]petcat.QuotaCharge{{Account: account, Quota: quota}}, 64)
	begin := time.Now()
	var counted [chargeConnections]int
	var wg sync.WaitGroup
	for i := range counted {
		wg.Go(func() {
			for time.Since(begin) < d {
				_, err := s.Charge(t.Context(), charges)
				switch {
				case err == nil:
					counted[i] += len(charges)
				case !isState(err, "55P03"): // a lock timeout, on a busy machine
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(counted[0]+counted[1]) / time.Since(begin).Seconds()
}

// TestChargeWithOpenSnapshot: a snapshot that is open for three minutes, such as a backup's, does not
// slow the charges of a busy account. A second database in turn shows the rest of the machine's load.
func TestChargeWithOpenSnapshot(t *testing.T) {
	url := server.Database(t)
	held, free := openAt(t, url, Options{Serving: true}), openAt(t, server.Database(t), Options{Serving: true})
	defer closeNow(t, held)
	defer closeNow(t, free)
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	pgtest.Execute(t, conn, "SELECT count(*) FROM spent")
	var rates, ratios []float64
	for begin, lasts := time.Now(), seconds(180); time.Since(begin) < lasts; {
		without, beside := decisions(t, free, 1, 2*time.Second), decisions(t, held, 1, 2*time.Second)
		rates, ratios = append(rates, beside), append(ratios, beside/without)
	}
	pgtest.Execute(t, conn, "ROLLBACK")
	last := ratios[len(ratios)*2/3:]
	slices.Sort(last)
	slices.Sort(rates)
	ratio := last[len(last)/2]
	t.Logf("%.0f decisions a second of one account", rates[len(rates)/2])
	t.Logf("%.2f of them in the last third of a snapshot of %s (median)", ratio, seconds(180))
	if ratio < 0.5 {
		t.Error("the snapshot slows the charges")
	}
}

// TestChargeWithoutStatistics: on a day that is not analyzed yet, calls on each new connection succeed.
func TestChargeWithoutStatistics(t *testing.T) {
	url := server.Database(t)
	conn := pgtest.Connect(t, url)
	pgtest.Execute(t, conn, `ALTER TABLE usage SET (autovacuum_enabled = off)`)
	const (
		now      = `extract(epoch FROM now())::bigint / 3600`
		accounts = `generate_series(1, 20000) AS account`
		hours    = `generate_series(` + now + ` - 200, ` + now + ` - 100) AS hour`
	)
	pgtest.Execute(t, conn, `INSERT INTO usage SELECT hour, account, 1, 0, 0, 0, 0, 0, 0 FROM `+accounts+`, `+hours)
	pgtest.Execute(t, conn, `ANALYZE usage`)
	pgtest.Execute(t, conn, `INSERT INTO usage SELECT `+now+`, account, 1, 0, 0, 0, 0, 0, 0 FROM `+accounts)
	var slowest time.Duration
	for n := range 20 {
		s := openAt(t, url, Options{})
		charges := make([]petcat.QuotaCharge, 64)
		for i := range charges {
			account := petcat.AccountID(64*n + i + 1)
			charges[i] = petcat.QuotaCharge{Account: account, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}}
		}
		if _, err := s.Charge(t.Context(), oneCharge(100_000)); err != nil { // connects
			t.Fatal(err)
		}
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := s.Charge(ctx, charges)
		cancel()
		if err != nil {
			t.Error(err)
		}
		slowest = max(slowest, time.Since(begin))
		closeNow(t, s)
	}
	t.Logf("the slowest of 20 first calls for 64 accounts took %s", slowest)
}

// TestChargeWithoutStandby: charges do not wait for an unreachable synchronous standby.
func TestChargeWithoutStandby(t *testing.T) {
	own := pgtest.New(t)
	url := own.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	admin := pgtest.Connect(t, url)
	pgtest.Execute(t, admin, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	pgtest.Execute(t, admin, "SELECT pg_reload_conf()")
	for account := range petcat.AccountID(1_000) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if _, err := s.Charge(ctx, oneCharge(account)); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	t.Log("1,000 accounts were charged for the first time while a standby was away")
}

// TestChargeWithBusyAccount: a busy account does not delay the charges of other accounts.
func TestChargeWithBusyAccount(t *testing.T) {
	url := server.Database(t)
	hot, quiet := openAt(t, url, Options{Serving: true}), openAt(t, url, Options{Serving: true})
	defer closeNow(t, hot)
	defer closeNow(t, quiet)
	lasts := seconds(10)
	var busy float64
	var wg sync.WaitGroup
	wg.Go(func() { busy = decisions(t, hot, 1, lasts) })
	var took []time.Duration
	for begin := time.Now(); time.Since(begin) < lasts; {
		at := time.Now()
		if _, err := quiet.Charge(t.Context(), oneCharge(2)); err != nil {
			t.Error(err)
		}
		took = append(took, time.Since(at))
	}
	wg.Wait()
	slices.Sort(took)
	t.Logf("beside %.0f decisions a second of one account, a call for another takes", busy)
	t.Logf("%s (median), %s (99 in 100)", took[len(took)/2], took[len(took)*99/100])
}
