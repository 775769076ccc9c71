package storetest

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

func testClean(t *testing.T, open Open) {
	t.Run("two processes delete many rows", func(t *testing.T) { testCleanMany(t, open) })
	t.Run("rows that have just expired", func(t *testing.T) { testCleanAges(t, open) })
}

// wantRows checks the number of rows of a table.
func (f *fixture) wantRows(t *testing.T, table string, want int64) {
	t.Helper()
	var got int64
	err := f.Change(t.Context(), "count", func(tx *store.Tx) error {
		return tx.Query(func(row store.Scan) error { return row(&got) }, "SELECT count(*) FROM "+table)
	})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "rows of the table "+table, want, got)
}

// testCleanAges: in each table, the row with the age of its retention is deleted, and the one that is a
// millisecond younger stays.
func testCleanAges(t *testing.T, open Open) {
	const day = 24 * time.Hour
	f := start(t, open)
	a := f.account(t, "zoo")
	f.key(t, a.ID, 1)
	f.key(t, a.ID, 2)
	f.run(t, "DELETE FROM events")
	for _, c := range []struct {
		table, insert string // $1 is 1 or 2, $2 is the time
		retention     time.Duration
	}{
		{
			"usage_nodes",
			`INSERT INTO usage_nodes (node, number, seen_at, stopped)
			VALUES (CAST(CAST($1 AS bigint) AS text), 1, $2, true)`,
			day,
		},
		{
			"usage_nodes",
			`INSERT INTO usage_nodes (node, number, seen_at, stopped)
			VALUES (CAST(CAST($1 AS bigint) AS text), 1, $2, false)`,
			petcat.UsageDays,
		},
		{
			"recent_rejections",
			`INSERT INTO recent_rejections (account_id, key_id, operation, code, count, first_at, last_at,
				request_id, status, minute_used, minute_limit, day_used, day_limit)
			VALUES (1, $1, '', '', 1, 0, $2, '', 429, 0, 0, 0, 0)`,
			30 * day,
		},
		{
			"sessions",
			`INSERT INTO sessions (account_id, hash, operator_name, created_at, seen_at) VALUES ($1, $3, '', 0, $2)`,
			petcat.CustomerIdle,
		},
		{
			"sign_in_links",
			`INSERT INTO sign_in_links (account_id, hash, operator_name, expires_at) VALUES ($1, $3, '', $2)`,
			0,
		},
		{
			"events",
			`INSERT INTO events (id, at, type, body, webhook_id) VALUES (10 + $1, $2, '', '{}', 0)`,
			petcat.EventRetention,
		},
		{
			"bans",
			`INSERT INTO bans (key_id, account_id, level, started_at, ends_at, early_retries, shadow,
				lifted_by, revision)
			VALUES ($1, 1, 5, 0, $2, 0, false, '', 0)`,
			petcat.BanRetention,
		},
	} {
		expired := f.now().Add(-c.retention).UnixMilli()
		for id, at := range []int64{expired, expired + 1} {
			args := []any{id + 1, at, []byte{byte(id)}}
			f.run(t, c.insert, args[:strings.Count(c.insert, "$")]...)
		}
		f.clean(t)
		f.wantRows(t, c.table, 1)
		f.run(t, "DELETE FROM "+c.table)
	}
}

// run runs a statement.
func (f *fixture) run(t *testing.T, query string, args ...any) {
	t.Helper()
	err := f.Change(t.Context(), "run a statement", func(tx *store.Tx) error { return tx.Run(query, args...) })
	if err != nil {
		t.Fatal(err)
	}
}

// testCleanMany: all expired rows are deleted, in several steps.
func testCleanMany(t *testing.T, open Open) {
	const old = 2010 // more than two batches
	f := start(t, open)
	other := f.another(t)
	clean := func() {
		t.Helper()
		var all sync.WaitGroup
		for _, s := range []*store.Store{f.Store, other} {
			all.Go(func() {
				if err := s.Clean(t.Context()); err != nil {
					t.Errorf("clean: %v", err)
				}
			})
		}
		all.Wait()
	}
	rows := make([][]any, old)
	for i := range rows {
		rows[i] = []any{strconv.Itoa(i), []byte{}}
	}
	err := f.Change(t.Context(), "fill", func(tx *store.Tx) error {
		for _, row := range rows {
			err := tx.Run(`INSERT INTO idempotency_keys (account_id, key, fingerprint, result_id)
				VALUES (1, $1, $2, 1)`, row...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.age(t, petcat.IdempotencyRetention-time.Hour)
	f.clock.Advance(48 * time.Hour) // idempotency keys expire by the database's clock
	young := petcat.CreateCategory{
		Account:        1,
		New:            category(t, "young", nil),
		IdempotencyKey: "young",
	}
	must(f.CreateCategory(t.Context(), young))
	clean()
	f.wantRows(t, "idempotency_keys", old+1)
	f.age(t, time.Hour)
	clean()
	f.wantRows(t, "idempotency_keys", 1)
}

// age makes all idempotency keys older.
func (f *fixture) age(t *testing.T, by time.Duration) {
	t.Helper()
	f.run(t, "UPDATE idempotency_keys SET created_at = created_at - $1", by.Milliseconds())
}
