package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
	"github.com/petcat-api/petcat/internal/store"
)

// everything returns the ids in feed order.
func everything(t *testing.T, s *stored) (ids []petcat.CategoryID) {
	t.Helper()
	err := s.CategoriesSince(t.Context(), 0, func(c petcat.RevisedCategory) error {
		ids = append(ids, c.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

const insertMany = `INSERT INTO categories (id, name, revision, account_id, created_at)
	SELECT n, 'x', n, 1, 0 FROM generate_series($1::int8, $2) AS n`

func TestFeedHasPages(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	s := openAt(t, url, Options{})
	defer closeNow(t, s)
	conn, have := pgtest.Connect(t, url), int64(0)
	for _, count := range []int64{0, 1, store.FeedPage - 1, store.FeedPage, store.FeedPage + 1, 3 * store.FeedPage} {
		if _, err := conn.Exec(t.Context(), insertMany, have+1, count); err != nil {
			t.Fatal(err)
		}
		have = count
		ids := everything(t, s)
		for i, id := range ids {
			if id != petcat.CategoryID(i+1) {
				t.Fatalf("of %d, number %d is %d", count, i, id)
			}
		}
		if int64(len(ids)) != count {
			t.Errorf("%d categories, want %d", len(ids), count)
		}
	}
}

// TestFeedIsPlannedForLargeTables: the plan of the feed's query is cached while the table is empty,
// and must also suit a large table.
func TestFeedIsPlannedForLargeTables(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	s := openAt(t, url+"&pool_max_conns=1", Options{})
	defer closeNow(t, s)
	// Autovacuum would invalidate the plan, which the server keeps from the sixth time on.
	pgtest.Execute(t, pgtest.Connect(t, url), "ALTER TABLE categories SET (autovacuum_enabled = false)")
	for range 10 {
		everything(t, s)
	}
	var plan []string
	err := s.readers.with(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		const name = `
			SELECT name FROM pg_prepared_statements
			WHERE ltrim(statement, E' \n\t') LIKE 'SELECT id, name, description%'`
		var statement string
		if err := conn.QueryRow(ctx, name).Scan(&statement); err != nil {
			return err
		}
		rows, err := conn.Query(ctx, "EXPLAIN EXECUTE "+statement+"(0, 1000)", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		plan, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(plan, "\n")
	if !strings.Contains(text, "Index Scan") || strings.Contains(text, "Sort") || !strings.Contains(text, "$1") {
		t.Errorf("the cached plan:\n%s", text)
	}
}
