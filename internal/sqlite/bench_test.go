package sqlite

import (
	"fmt"
	"testing"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/datadir"
	"petcat/internal/store"
	"petcat/internal/storetest"
)

func openBench(b *testing.B) *Store {
	b.Helper()
	dir, err := datadir.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	s, err := Open(b.Context(), Options{Dir: dir, Environment: petcat.Production, Clock: clock.NewSystem(), Serving: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func BenchmarkCreateCategory(b *testing.B) {
	storetest.BenchmarkCreates(b, func(b *testing.B) storetest.Store {
		b.Helper()
		return openBench(b)
	})
}

func BenchmarkEachCategory(b *testing.B) {
	const rows = 1_000_000
	s := openBench(b)
	insert := func(t *store.Tx) error {
		_, err := t.Exec(`WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ?)
			INSERT INTO category (id, name, description, revision, account_id, created_at)
			SELECT id, 'Category ' || id, 'Domesticated descendants of the wolf, kept for company and for work', id, 1, 0 FROM n`, rows)
		return err
	}
	if err := s.Change(b.Context(), "fill", insert); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		err := s.EachCategory(b.Context(), func(petcat.RevisedCategory) error { n++; return nil })
		if err != nil || n != rows {
			b.Fatalf("read %d categories: %v", n, err)
		}
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkOpen(b *testing.B) {
	dir, err := datadir.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(b.Context(), Options{Dir: dir, Environment: petcat.Production, Clock: clock.NewSystem(), Serving: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAccessChangesSince(b *testing.B) {
	s := openBench(b)
	for b.Loop() {
		if _, err := s.AccessChangesSince(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFindCredentials(b *testing.B) {
	s := openBench(b)
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("hashes=%d", n), func(b *testing.B) {
			hashes := make([]petcat.KeyHash, n)
			for i := range hashes {
				hashes[i][0] = byte(i)
			}
			for b.Loop() {
				if _, err := s.FindCredentials(b.Context(), hashes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
