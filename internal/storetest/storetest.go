// Package storetest is the conformance suite of [store.Store], which makes it behave identically on
// all databases. Packages sqlite and postgres test their own features.
package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/store"
)

// The domain declares what the operations do, and the suite tests that.
var (
	_ petcat.CategoryStore      = (*store.Store)(nil)
	_ petcat.PetStore           = (*store.Store)(nil)
	_ petcat.OrderStore         = (*store.Store)(nil)
	_ petcat.AccountStore       = (*store.Store)(nil)
	_ petcat.KeyStore           = (*store.Store)(nil)
	_ petcat.BanStore           = (*store.Store)(nil)
	_ petcat.AccessStore        = (*store.Store)(nil)
	_ petcat.NodeStore          = (*store.Store)(nil)
	_ petcat.AuditStore         = (*store.Store)(nil)
	_ petcat.UsageStore         = (*store.Store)(nil)
	_ petcat.OperatorStore      = (*store.Store)(nil)
	_ petcat.OperatorTokenStore = (*store.Store)(nil)
	_ petcat.SessionStore       = (*store.Store)(nil)
	_ petcat.PlanRequestStore   = (*store.Store)(nil)
	_ petcat.EventStore         = (*store.Store)(nil)
	_ petcat.WebhookStore       = (*store.Store)(nil)
	_ petcat.CategoryFeed       = (*store.Store)(nil)
)

// Open opens a store on the dataset named place, which is empty the first time, and closes it when
// the test ends. Several stores on the same dataset stand for several processes.
type Open func(t *testing.T, place string, c clock.Clock) *store.Store

// OpenOwn is Open for a store with a single process that creates categories. committed, if not nil,
// is called with the categories of each commit.
type OpenOwn func(
	t *testing.T,
	place string,
	c clock.Clock,
	committed func([]petcat.RevisedCategory),
) *store.Store

// RunOwn runs the suite for a store with a single process.
func RunOwn(t *testing.T, open OpenOwn) {
	run(t, func(t *testing.T, place string, c clock.Clock) *store.Store {
		t.Helper()
		return open(t, place, c, nil)
	})
	t.Run("creates are passed on before they return", func(t *testing.T) { testHandedOver(t, open) })
	t.Run("changes are passed on before they return", func(t *testing.T) { testChangesHandedOver(t, open) })
}

// RunShared runs the suite for a store with several processes that create categories.
func RunShared(t *testing.T, open Open) {
	run(t, open)
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
		{"copies of the list", testChanges},
		{"bounds of storage", testBounds},
		{"pets", testPets},
		{"orders", testOrders},
		{"groups of creates", testCreates},
		{"idempotency", testIdempotency},
		{"idempotency of all creates", testOnce},
		{"idempotency of operators", testOnceOfOperators},
		{"idempotency of management", testManagedOnce},
		{"idempotency of every change", testManagedOnceAll},
		{"accounts", testAccounts},
		{"purges", testPurges},
		{"keys", testKeys},
		{"bans", testBans},
		{"inherited bans", testInheritedBan},
		{"access", testAccess},
		{"own changes of access", testAccessChanged},
		{"audit", testAudit},
		{"usage", testUsage},
		{"operators", testOperators},
		{"changes by operators", testOperatorChanges},
		{"sessions", testSessions},
		{"tokens", testTokens},
		{"plan requests", testPlanRequests},
		{"storage after an approved plan request", testApprovedStorage},
		{"changes of customers", testCustomerChanges},
		{"events of changes", testEvents},
		{"events of nodes", testNotedEvents},
		{"events of keys that expire", testExpiringKeys},
		{"events of categories", testCategoryEvents},
		{"webhooks", testWebhooks},
		{"deliveries", testDeliveries},
		{"pages", testPages},
		{"rolled back operations", testRolledBack},
		{"running nodes", testRunningNodes},
		{"clean", testClean},
		{"identity of the data", testMeta},
		{"shared texts", testSharedTexts},
		{"log level", testLogLevel},
	} {
		t.Run(suite.name, func(t *testing.T) { suite.run(t, open) })
	}
}

// noon is the start time of the tests.
var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

// operator is the actor in the tests.
const operator petcat.Actor = "cli:ada"

// fixture is a store with its clock.
type fixture struct {
	*store.Store

	clock *clocktest.Manual
	open  Open
	place string
}

// start opens a store on an empty dataset.
func start(t *testing.T, open Open) *fixture {
	t.Helper()
	f := &fixture{clock: clocktest.NewManual(noon), open: open, place: t.TempDir()}
	f.Store = f.another(t)
	return f
}

// another opens a second store on the same dataset, for another process.
func (f *fixture) another(t *testing.T) *store.Store {
	t.Helper()
	return f.open(t, f.place, f.clock)
}

func (f *fixture) now() time.Time { return f.clock.Read().Time() }

// must returns v. It panics after an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// value returns the value of a change's result.
func value[T any](r petcat.Result[T], err error) (T, error) { return r.Value, err }

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

// collect returns all elements of an Each method.
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
	return must(petcat.ParseNewCategory(&name, description))
}

func subscription(t *testing.T, plan string, perMinute, perDay int64) petcat.Subscription {
	t.Helper()
	return must(petcat.ParseSubscription(plan, petcat.Quota{PerMinute: perMinute, PerDay: perDay}, petcat.Storage{}))
}

func (f *fixture) account(t *testing.T, name string) petcat.Account {
	t.Helper()
	free := subscription(t, "free", 0, 0)
	return must(f.CreateAccount(t.Context(), petcat.By(operator), petcat.NewAccount{
		Name:         petcat.AccountName(name),
		Subscription: free,
	})).Value
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

// keyOn creates a key on terms, with its own label.
func (f *fixture) keyOn(
	t *testing.T, a petcat.AccountID, seed uint64, terms petcat.KeyTerms,
) (petcat.Key, petcat.GeneratedKey) {
	t.Helper()
	terms.Label = fmt.Sprintf("key %d", seed)
	n, _, err := generator(seed).NewKey(a, terms)
	if err != nil {
		t.Fatal(err)
	}
	return must(f.CreateKey(t.Context(), petcat.By(operator), n)).Value, n.Generated()
}

func (f *fixture) keys(t *testing.T, a petcat.AccountID) []petcat.Key {
	t.Helper()
	all, err := f.KeyPage(t.Context(), petcat.KeyQuery{Account: a})
	slices.Reverse(all)
	return must(all, err)
}

func (f *fixture) audit(t *testing.T) []petcat.AuditEntry {
	t.Helper()
	return collect(t, func(fn func(petcat.AuditEntry) error) error {
		return f.EachAuditEntry(t.Context(), petcat.AuditQuery{}, fn)
	})
}
