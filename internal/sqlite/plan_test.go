package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/store"
)

// watched is an engine that records reads' query plans.
type watched struct {
	*DB
	plan *[]string
}

func (w watched) Read(ctx context.Context, doing string, fn func(store.Querier) error) error {
	return w.translate(fn(conn{ctx, explained{w.readers, w.plan}}), doing)
}

type explained struct {
	statements
	plan *[]string
}

func (e explained) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := e.statements.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			return nil, err
		}
		*e.plan = append(*e.plan, step)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return e.statements.QueryContext(ctx, query, args...) //nolint:sqlclosecheck // the caller closes them
}

// TestPagesUseIndexes: the cost of a page does not depend on the number of pets and orders.
func TestPagesUseIndexes(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	var plan []string
	seen := store.New(watched{s.DB, &plan}, clock.NewSystem())
	for name, c := range map[string]struct {
		list func() error
		want string
	}{
		"pets": {func() error {
			_, err := seen.ListPets(t.Context(), petcat.PetQuery{Limit: 10})
			return err
		}, "SEARCH pets USING INTEGER PRIMARY KEY (rowid>?)"},
		"pets of a category": {func() error {
			_, err := seen.ListPets(t.Context(), petcat.PetQuery{Category: 1, Limit: 10})
			return err
		}, "SEARCH pets USING INDEX pet_category (category_id=? AND id>?)"},
		"orders": {func() error {
			_, err := seen.ListOrders(t.Context(), petcat.OrderQuery{Account: 1, Limit: 10})
			return err
		}, "SEARCH orders USING INDEX store_order_account (account_id=? AND id>?)"},
		"accounts": {func() error {
			_, err := seen.AccountPage(t.Context(), petcat.AccountQuery{Limit: 10})
			return err
		}, "SCAN accounts USING INDEX account_search"},
		"accounts by prefix": {func() error {
			_, err := seen.AccountPage(t.Context(), petcat.AccountQuery{Prefix: "a", Limit: 10})
			return err
		}, "SEARCH accounts USING INDEX account_search (<expr>>? AND <expr><?)"},
		"accounts, the next page": {func() error {
			next := petcat.AccountQuery{After: petcat.AccountCursor{Name: "a", ID: 1}, Limit: 10}
			_, err := seen.AccountPage(t.Context(), next)
			return err
		}, "SEARCH accounts USING INDEX account_search (<expr>>?)"},
		"keys": {func() error {
			_, err := seen.KeyPage(t.Context(), petcat.KeyQuery{Account: 1, Before: 9, Limit: 10})
			return err
		}, "SEARCH api_keys USING INDEX api_key_account (account_id=? AND rowid<?)\n" +
			"CORRELATED SCALAR SUBQUERY 1\nSEARCH key_uses USING INTEGER PRIMARY KEY (rowid=?)"},
		"bans in force of an account": {func() error {
			_, err := seen.BanPage(t.Context(), petcat.BanQuery{
				Active:  time.Now(),
				Account: 1,
				Limit:   10,
			})
			return err
		}, "SEARCH bans USING INDEX ban_account (account_id=?)"},
		"pending plan requests": {func() error {
			pending := petcat.PlanRequestQuery{State: petcat.PlanRequestPending, Limit: 10}
			_, err := seen.PlanRequests(t.Context(), pending)
			return err
		}, "SEARCH r USING INDEX plan_request_state (state=?)\nSEARCH a USING INTEGER PRIMARY KEY (rowid=?)"},
	} {
		plan = nil
		if err := c.list(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(plan, "\n"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
