package sqlite

import (
	"testing"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/datadir"
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
