package postgres

import (
	"testing"

	"petcat/internal/pgtest"
	"petcat/internal/storetest"
)

// BenchmarkCreateCategory has a server of its own, with the durability that is measured.
func BenchmarkCreateCategory(b *testing.B) {
	storetest.BenchmarkCreates(b, func(b *testing.B) storetest.Store {
		b.Helper()
		s := openAt(b, pgtest.New(b).Database(b), Options{})
		b.Cleanup(func() { closeNow(b, s) })
		return s
	})
}
