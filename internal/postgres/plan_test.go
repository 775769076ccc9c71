package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/store"
)

// watched is the engine, which tells how PostgreSQL is going to find what is read.
type watched struct {
	engine
	plan *[]string
}

func (w watched) Read(ctx context.Context, doing string, fn func(store.Conn) error) error {
	return w.s.pool.read(ctx, doing, func(ctx context.Context, c *pgx.Conn) error {
		return fn(conn{ctx: ctx, querier: explained{c, c, w.plan}, texts: &w.s.pool.texts})
	})
}

type explained struct {
	querier
	conn *pgx.Conn
	plan *[]string
}

func (e explained) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	rows, err := e.conn.Query(ctx, "EXPLAIN (COSTS OFF) "+query, args...)
	if err != nil {
		return nil, err
	}
	if *e.plan, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return nil, err
	}
	return e.querier.Query(ctx, query, args...)
}

// TestPagesComeFromIndexes: a page costs what is in it, however many pets and orders
// there are.
func TestPagesComeFromIndexes(t *testing.T) {
	t.Parallel()
	// The tables are empty: the server would read them whole.
	s := openAt(t, server.Database(t)+"&options="+`-c%20enable_seqscan%3Doff%20-c%20enable_bitmapscan%3Doff`, Options{})
	defer closeNow(t, s)
	var plan []string
	seen := store.New(watched{engine{s}, &plan}, dialect(), store.Meta{}, clock.NewSystem())
	for name, c := range map[string]struct {
		list func() error
		want []string
	}{
		"pets": {func() error {
			_, err := seen.ListPets(t.Context(), petcat.PetQuery{Limit: 10})
			return err
		}, []string{"Index Scan using pet_pkey on pet", "Index Cond: (id > "}},
		"pets of a category": {func() error {
			_, err := seen.ListPets(t.Context(), petcat.PetQuery{Category: 1, Limit: 10})
			return err
		}, []string{"Index Scan using pet_category on pet", "Index Cond: ((category_id = "}},
		"orders": {func() error {
			_, err := seen.ListOrders(t.Context(), petcat.OrderQuery{Account: 1, Limit: 10})
			return err
		}, []string{"Index Scan using store_order_account on store_order", "Index Cond: ((account_id = "}},
	} {
		plan = nil
		if err := c.list(); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(plan, "\n")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		if strings.Contains(got, "Sort") {
			t.Errorf("%s are sorted: %s", name, got)
		}
	}
}
