package seed

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// PostgresCategories adds n categories of account 1 to one of petcat's databases of
// PostgreSQL, by the schema in internal/postgres/migrations, and leaves everything on the
// disk. The user must be a superuser.
func PostgresCategories(ctx context.Context, url string, n int) (err error) {
	const insert = `
		INSERT INTO categories (id, name, description, revision, account_id, created_at)
		SELECT c.category_id + s.i, k.name || ' ' || s.i, k.description, c.revision + s.i, 1, extract(epoch FROM now())::bigint * 1000
		FROM counter AS c CROSS JOIN generate_series(1, $1::bigint) AS s (i)
		JOIN unnest($2::text[], $3::text[]) WITH ORDINALITY AS k (name, description, number) ON k.number = (s.i - 1) % cardinality($2::text[]) + 1
		ORDER BY s.i`
	const count = `UPDATE counter SET category_id = category_id + $1, revision = revision + $1`
	var names, descriptions []string
	for _, k := range kinds() {
		names, descriptions = append(names, k.Name), append(descriptions, k.Description)
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, insert, n, names, descriptions); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, count, n)
		return err
	})
	// Else PostgreSQL would do both by itself, while something is measured.
	for _, statement := range []string{"VACUUM ANALYZE categories", "CHECKPOINT"} {
		if err == nil {
			_, err = conn.Exec(ctx, statement)
		}
	}
	if err != nil {
		return fmt.Errorf("seed the database: %w", err)
	}
	return nil
}
