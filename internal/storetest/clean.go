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
		rows[i] = []any{strconv.Itoa(i), []byte{}, store.Now(f.clock).UnixMilli()}
	}
	err := f.Change(t.Context(), "fill", func(tx *store.Tx) error {
		return tx.ExecEach("INSERT INTO idempotency_keys (account_id, key, fingerprint, category_id, created_at) VALUES (1, ?, ?, 1, ?)", rows)
	})
	if err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(petcat.IdempotencyRetention - time.Millisecond)
	must2(t)(f.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: category(t, "young", nil), IdempotencyKey: "young"}))
	clean()
	wantRows("idempotency_keys", old+1)
	f.clock.Advance(time.Millisecond)
	clean()
	wantRows("idempotency_keys", 1)
}
