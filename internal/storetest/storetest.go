// Package storetest is the conformance suite of all stores, over the interfaces of
// package petcat, so that they behave identically. It does not know which store it
// tests; what is special to a store is tested in its own package.
package storetest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/clocktest"
	"petcat/internal/store"
)

// Store is everything that a store implements.
type Store interface { //nolint:interfacebloat // a sum of small ones
	petcat.CategoryStore
	CategoryOrigins(ctx context.Context, ids []petcat.CategoryID) ([]petcat.CategoryOrigin, error)
	petcat.PetStore
	petcat.OrderStore
	petcat.AccountStore
	petcat.KeyStore
	UndoRotation(ctx context.Context, by petcat.Actor, before petcat.Key) error
	petcat.BanStore
	petcat.AccessStore
	petcat.NodeStore
	OnAccessChange(fn func(context.Context))
	petcat.AuditStore
	petcat.UsageStore
	petcat.OperatorStore
	petcat.SessionStore
	petcat.OperatorTokenStore
	petcat.PlanRequestStore
	io.Closer
	// Clean deletes what has expired.
	Clean(ctx context.Context) error
	// Change runs fn in a transaction, as the store's operations do.
	Change(ctx context.Context, doing string, fn func(*store.Tx) error) error
	// Note and SetNote are what processes tell each other beside the data.
	Note(ctx context.Context, name string) (string, error)
	SetNote(ctx context.Context, name, text string) error
	LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error)
	SetLogLevel(ctx context.Context, by petcat.Actor, level slog.Level, until time.Time) error
}

// Open opens a store on the set of data that place names, an empty one the first
// time. Several stores on the same place stand for several processes. The test
// closes the store.
type Open func(t *testing.T, place string, c clock.Clock) Store

// OpenOwn is Open for a store whose categories are created by one process alone.
// committed, when not nil, gets what the store hands over after each commit.
type OpenOwn func(t *testing.T, place string, c clock.Clock, committed func([]petcat.RevisedCategory)) Store

// SharedStore is a store in which several processes create categories.
type SharedStore interface {
	Store
	petcat.CategoryFeed
}

// OpenShared is Open for a store that several processes share.
type OpenShared func(t *testing.T, place string, c clock.Clock) SharedStore

// RunOwn runs the suite for a store that belongs to one server.
func RunOwn(t *testing.T, open OpenOwn) {
	run(t, func(t *testing.T, place string, c clock.Clock) Store {
		t.Helper()
		return open(t, place, c, nil)
	})
	t.Run("commits are handed over before the answer", func(t *testing.T) { testHandedOver(t, open) })
	t.Run("changes are handed over before the answer", func(t *testing.T) { testChangesHandedOver(t, open) })
}

// RunShared runs the suite for a store that several servers share.
func RunShared(t *testing.T, open OpenShared) {
	run(t, func(t *testing.T, place string, c clock.Clock) Store {
		t.Helper()
		return open(t, place, c)
	})
	t.Run("several nodes", func(t *testing.T) { testNodes(t, open) })
}

func run(t *testing.T, open Open) {
	t.Helper()
	for _, suite := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"categories", testCategories},
		{"changes of categories", testCategoryChanges},
		{"pets", testPets},
		{"orders", testOrders},
		{"idempotency", testIdempotency},
		{"idempotency of all creates", testOnce},
		{"idempotency of management", testManagedOnce},
		{"accounts", testAccounts},
		{"keys", testKeys},
		{"bans", testBans},
		{"access", testAccess},
		{"own changes of access", testAccessChanged},
		{"audit", testAudit},
		{"usage", testUsage},
		{"operators", testOperators},
		{"changes by operators", testOperatorChanges},
		{"sessions", testSessions},
		{"tokens", testTokens},
		{"plan requests", testPlanRequests},
		{"pages", testPages},
		{"what is refused", testRefused},
		{"running nodes", testRunningNodes},
		{"clean", testClean},
		{"notes", testNotes},
		{"log level", testLogLevel},
	} {
		t.Run(suite.name, func(t *testing.T) { suite.run(t, open) })
	}
}

// noon is when the tests begin.
var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

// operator is who makes the changes in the tests.
const operator petcat.Actor = "cli:ada"

// fixture is one store with its clock.
type fixture struct {
	Store
	clock *clocktest.Manual
	open  Open
	place string
}

// start opens a store on fresh data.
func start(t *testing.T, open Open) *fixture {
	t.Helper()
	f := &fixture{clock: clocktest.NewManual(noon), open: open, place: t.TempDir()}
	f.Store = f.another(t)
	return f
}

// another opens a second store on the same data, as another process would.
func (f *fixture) another(t *testing.T) Store {
	t.Helper()
	s := f.open(t, f.place, f.clock)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t *testing.T, s Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func (f *fixture) now() time.Time { return f.clock.Read().Time() }

// must fails the test for an error and returns the value otherwise.
func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wantCode(t *testing.T, err error, want petcat.Code) {
	t.Helper()
	if got := petcat.CodeOf(err); got != want {
		t.Fatalf("got the error %v (code %q), want code %q", err, got, want)
	}
}

func wantEqual[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// collect returns everything that an Each method of a store calls fn with.
func collect[T any](t *testing.T, each func(fn func(T) error) error) []T {
	t.Helper()
	var all []T
	err := each(func(v T) error {
		all = append(all, v)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func category(t *testing.T, name string, description *string) petcat.NewCategory {
	t.Helper()
	n, err := petcat.ParseNewCategory(&name, description)
	return must(t, n, err)
}

func subscription(t *testing.T, plan string, perMinute, perDay int64) petcat.Subscription {
	t.Helper()
	s, err := petcat.ParseSubscription(plan, perMinute, perDay)
	return must(t, s, err)
}

func (f *fixture) account(t *testing.T, name string) petcat.Account {
	t.Helper()
	a, err := f.CreateAccount(t.Context(), operator, petcat.AccountName(name), subscription(t, "free", 0, 0))
	return must(t, a, err)
}

// generator makes keys; the seed makes them repeatable.
func generator(seed uint64) petcat.KeyGenerator {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	return petcat.KeyGenerator{Environment: petcat.Production, Random: rand.NewChaCha8(key)}
}

// key creates a key that never expires.
func (f *fixture) key(t *testing.T, a petcat.AccountID, seed uint64) (petcat.Key, petcat.GeneratedKey) {
	t.Helper()
	return f.keyOn(t, a, seed, petcat.KeyTerms{})
}

// keyOn creates a key on terms, but with a label of its own.
func (f *fixture) keyOn(t *testing.T, a petcat.AccountID, seed uint64, terms petcat.KeyTerms) (petcat.Key, petcat.GeneratedKey) {
	t.Helper()
	terms.Label = fmt.Sprintf("key %d", seed)
	n, _, err := generator(seed).NewKey(a, terms, f.now())
	if err != nil {
		t.Fatal(err)
	}
	k, err := f.CreateKey(t.Context(), operator, n)
	return must(t, k, err), n.Generated()
}

func (f *fixture) keys(t *testing.T, a petcat.AccountID) []petcat.Key {
	t.Helper()
	all, err := f.KeyPage(t.Context(), petcat.KeyQuery{Account: a})
	slices.Reverse(all)
	return must(t, all, err)
}

func (f *fixture) audit(t *testing.T) []petcat.AuditEntry {
	t.Helper()
	return collect(t, func(fn func(petcat.AuditEntry) error) error {
		return f.EachAuditEntry(t.Context(), petcat.AuditQuery{}, fn)
	})
}
