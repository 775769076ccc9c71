package sqlite

import (
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

func TestStore(t *testing.T) {
	storetest.RunOwn(t, func(
		t *testing.T,
		place string,
		c clock.Clock,
		committed func([]petcat.RevisedCategory),
	) *store.Store {
		t.Helper()
		s := openAt(t, place, Options{Clock: c})
		s.OnCategoriesCommitted(committed)
		closeAtEnd(t, s.DB)
		return s.Store
	})
}

// closeAtEnd closes a database when the test ends.
func closeAtEnd(t *testing.T, db *DB) {
	t.Helper()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// stored is a store with its database.
type stored struct {
	*store.Store
	*DB
}

// openAt opens a store in a directory. The test must close it.
func openAt(t testing.TB, path string, o Options) *stored {
	t.Helper()
	s, err := tryOpen(t, path, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func tryOpen(t testing.TB, path string, o Options) (*stored, error) {
	t.Helper()
	dir, err := datadir.Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = dir
	if o.Environment == "" {
		o.Environment = petcat.Production
	}
	if o.Clock == nil {
		o.Clock = clock.NewSystem()
	}
	db, err := Open(t.Context(), o)
	if err != nil {
		return nil, err
	}
	return &stored{store.New(db, o.Clock), db}, nil
}
