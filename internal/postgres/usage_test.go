package postgres

import (
	"testing"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/pgtest"
	"petcat/internal/storetest"
)

// TestUsageIsSmall: what a day of usage of many accounts takes with its indexes, by a part
// of them.
func TestUsageIsSmall(t *testing.T) {
	const accounts = 2_000
	url, c := server.Database(t), clock.NewManual(storetest.UsageStart())
	s := openAt(t, url, Options{Clock: c})
	defer closeNow(t, s)
	db := pgtest.Connect(t, url)
	// As the server does by itself, a minute after most rows of a table were changed.
	vacuum := func() { pgtest.Execute(t, db, `VACUUM usage_hour, usage_day`) }
	storetest.FillUsageDay(t, s, c, accounts, vacuum)
	vacuum()
	var size int64
	const query = `SELECT pg_total_relation_size('usage_hour') + pg_total_relation_size('usage_day')`
	if err := db.QueryRow(t.Context(), query).Scan(&size); err != nil {
		t.Fatal(err)
	}
	took := size * 100_000 / accounts
	t.Logf("a day of 100,000 accounts takes %d bytes", took)
	if took > storetest.MaxUsageDay {
		t.Errorf("a day of 100,000 accounts takes %d bytes, want %d at most", took, storetest.MaxUsageDay)
	}
}

// TestKeyUsesOfManyKeys: however long it takes to read all of them, the last uses of the keys
// are read to the end while the database goes on.
func TestKeyUsesOfManyKeys(t *testing.T) {
	t.Parallel()
	const batches, each = 5, 10_000 // uses, which take more bytes than the server keeps back
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	at := time.Now().Truncate(time.Second)
	for b := range int64(batches) {
		batch := petcat.UsageBatch{Node: "a", Number: b + 1, Until: at}
		for k := range int64(each) {
			batch.Keys = append(batch.Keys, petcat.KeyUse{Key: petcat.KeyID(b*each + k + 1), At: at})
		}
		if err := s.AddUsage(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	db := pgtest.Connect(t, url)
	pgtest.Execute(t, db, `ALTER TABLE usage_batch RENAME TO slow_batch`)
	pgtest.Execute(t, db, `CREATE VIEW usage_batch AS SELECT * FROM slow_batch WHERE pg_sleep(0.5)::text IS NOT NULL`)
	uses, err := s.KeyUses(t.Context(), petcat.AllAccounts)
	if err != nil || len(uses) != batches*each {
		t.Errorf("%d last uses are read, want %d: %v", len(uses), batches*each, err)
	}
}
