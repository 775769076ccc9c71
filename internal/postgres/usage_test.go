package postgres

import (
	"testing"

	"petcat/internal/clock"
	"petcat/internal/pgtest"
	"petcat/internal/storetest"
)

// TestUsageIsSmall: what a day of usage of many accounts takes with its indexes, by a part
// of them.
func TestUsageIsSmall(t *testing.T) {
	const accounts = 2_000
	url, c := server.Server(t).Database(t), clock.NewManual(storetest.UsageStart())
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
