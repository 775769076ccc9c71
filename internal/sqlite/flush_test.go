package sqlite

import (
	"testing"

	"github.com/petcat-api/petcat/internal/storetest"
)

func BenchmarkFlush(b *testing.B) {
	s := openAt(b, b.TempDir(), Options{Serving: true})
	defer func() { _ = s.Close() }()
	storetest.BenchmarkFlush(b, s.Store)
}
