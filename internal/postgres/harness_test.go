package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/pgtest"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

// server is shared by tests that do not damage it.
var server = pgtest.Shared{Migrate: func(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(migrate(ctx, conn, migrations(), Options{}), conn.Close(ctx))
}}

func TestMain(m *testing.M) { server.Main(m) }

func TestStore(t *testing.T) {
	t.Parallel() // with TestPlans
	places := newPlaces()
	storetest.RunShared(t, func(t *testing.T, place string, c clock.Clock) *store.Store {
		s := openAt(t, places.url(t, place), Options{Clock: c})
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

// places are the databases of the conformance suite.
type places struct {
	mu   sync.Mutex
	urls map[string]string // by place
}

func newPlaces() *places { return &places{urls: make(map[string]string)} }

// url returns the address of the database of a place, which is empty the first time.
func (p *places) url(t *testing.T, place string) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.urls[place] == "" {
		p.urls[place] = server.Database(t)
	}
	return p.urls[place]
}

// stored is a store with its database.
type stored struct {
	*store.Store
	*DB
}

// openAt opens a store, which the test must close.
func openAt(t testing.TB, url string, o Options) *stored {
	t.Helper()
	s, err := tryOpen(t, url, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func tryOpen(t testing.TB, url string, o Options) (*stored, error) {
	t.Helper()
	o.URL = petcat.NewSecret(url)
	if o.Environment == "" {
		o.Environment = petcat.Production
	}
	if o.Clock == nil {
		o.Clock = clock.NewSystem()
	}
	if o.timeouts == nil {
		p := patient()
		o.timeouts = &p
	}
	db, err := Open(t.Context(), o)
	if err != nil {
		return nil, err
	}
	return &stored{store.New(db, o.Clock), db}, nil
}

// patient returns timeouts for a busy machine: only a hang exceeds them.
func patient() timeouts {
	const long = 30 * time.Second
	return timeouts{connect: long, read: long, row: long, write: long, lock: long, statement: long, idle: long}
}

func closeNow(t testing.TB, s *stored) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func newCategory(t testing.TB, name string) petcat.NewCategory {
	t.Helper()
	n, err := petcat.ParseNewCategory(&name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func tryCreate(
	ctx context.Context, t testing.TB, s *stored, name string, key petcat.IdempotencyKey,
) (petcat.CreatedCategory, error) {
	t.Helper()
	return s.CreateCategory(ctx, petcat.CreateCategory{
		Account:        1,
		New:            newCategory(t, name),
		IdempotencyKey: key,
	})
}

func create(t testing.TB, s *stored, name string) petcat.Category {
	t.Helper()
	c, err := tryCreate(t.Context(), t, s, name, "")
	if err != nil {
		t.Fatalf("create %q: %v", name, err)
	}
	return c.Category
}

func wantUnavailable(t testing.TB, err error) {
	t.Helper()
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Fatalf("got %v, want %s", err, petcat.CodeServiceUnavailable)
	}
}
