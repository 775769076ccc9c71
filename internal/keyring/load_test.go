package keyring_test

import (
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/keyring"
	"github.com/petcat-api/petcat/internal/sqlite"
	sqlstore "github.com/petcat-api/petcat/internal/store"
)

// BenchmarkLoad loads 1,000,000 keys of 500,000 accounts from SQLite.
func BenchmarkLoad(b *testing.B) {
	const accounts, keys = 500_000, 1_000_000
	dir, err := datadir.Open(b.TempDir(), true)
	must(b, err)
	system := clock.NewSystem()
	db, err := sqlite.Open(b.Context(), sqlite.Options{
		Dir:         dir,
		Environment: petcat.Production,
		Clock:       system,
	})
	must(b, err)
	defer func() { must(b, db.Close()) }()
	s := sqlstore.New(db, system)
	must(b, s.Change(b.Context(), "fill", func(t *sqlstore.Tx) error { return fill(t, accounts, keys) }))
	for b.Loop() {
		before, began := heap(), time.Now()
		k, err := keyring.Load(b.Context(), keyring.Options{
			Environment: petcat.Production,
			Store:       s,
			Clock:       system,
			Logger:      slog.New(slog.DiscardHandler),
			Ban:         func(petcat.Ban) {},
		})
		must(b, err)
		b.ReportMetric(time.Since(began).Seconds(), "s/load")
		b.ReportMetric(float64(heap()-before)/1e6, "MB")
		if k.Keys() != keys {
			b.Fatalf("loaded %d keys", k.Keys())
		}
		runtime.KeepAlive(k)
	}
}

func fill(t *sqlstore.Tx, accounts, keys int64) error {
	const (
		series = `WITH RECURSIVE generate_series (value) AS
			(SELECT 1 UNION ALL SELECT value + 1 FROM generate_series WHERE value < $1)`
		account = `INSERT INTO accounts
			(id, name, plan, per_minute, per_day, max_categories, max_bytes, created_at, revision)
			SELECT value, 'customer ' || value, 'free', 60, 1000, 1, 1, 0, value FROM generate_series`
		key = `INSERT INTO api_keys
			(id, account_id, hash, label, hint, created_at, successor_id, revision)
			VALUES ($1, $2, $3, '', 'abcd', 0, 0, $4)`
	)
	if _, err := t.Exec(series+account, accounts); err != nil {
		return err
	}
	for id := range keys {
		var number [8]byte
		binary.LittleEndian.PutUint64(number[:], uint64(id))
		hash := sha256.Sum256(number[:])
		if _, err := t.Exec(key, id+1, id%accounts+1, hash[:], id+1); err != nil {
			return err
		}
	}
	return nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
