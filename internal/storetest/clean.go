package storetest

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/store"
)

// testClean: all expired rows are deleted, in several batches, by two concurrent processes.
func testClean(t *testing.T, open Open) {
	const old = 2010 // more than two batches
	f := start(t, open)
	other := f.another(t)
	clean := func() {
		t.Helper()
		var all sync.WaitGroup
		for _, s := range []Store{f, other} {
			all.Go(func() {
				if err := s.Clean(t.Context()); err != nil {
					t.Errorf("clean: %v", err)
				}
			})
		}
		all.Wait()
	}
	wantRows := func(table string, want int64) {
		t.Helper()
		var got int64
		err := f.Change(t.Context(), "count", func(tx *store.Tx) error {
			return tx.Query(func(scan store.Scan) error { return scan(&got) }, "SELECT count(*) FROM "+table)
		})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "rows of the table "+table, want, got)
	}
	rows := make([][]any, old)
	for i := range rows {
		rows[i] = []any{strconv.Itoa(i), []byte{}}
	}
	err := f.Change(t.Context(), "fill", func(tx *store.Tx) error {
		for _, row := range rows {
			if err := tx.Run("INSERT INTO idempotency_keys (account_id, key, fingerprint, result_id) VALUES (1, ?, ?, 1)", row...); err != nil {
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
	must2(t)(f.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: category(t, "young", nil), IdempotencyKey: "young"}))
	clean()
	wantRows("idempotency_keys", old+1)
	f.age(t, time.Hour)
	clean()
	wantRows("idempotency_keys", 1)
}

// age makes all idempotency keys older.
func (f *fixture) age(t *testing.T, by time.Duration) {
	t.Helper()
	err := f.Change(t.Context(), "age", func(tx *store.Tx) error {
		_, err := tx.Exec("UPDATE idempotency_keys SET created_at = created_at - ?", by.Milliseconds())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
