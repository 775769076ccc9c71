package postgres

import (
	"context"
	"embed"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"petcat/internal/openerror"
)

// migrations are in the order of their names. The first one makes the table petcat_schema,
// whose one row says how many were made.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is the number of the advisory lock that is held while the schema is
// changed: "petcat" in ASCII. Such locks are each database's own.
const migrationLock = 0x706574636174

// migrate makes the schema or brings it up to date, in one transaction. Several nodes may start
// at once: one does it, the others wait. Migrations only add, so this program works with a
// database that has had more than it knows.
func migrate(ctx context.Context, conn *pgx.Conn, files fs.FS, o Options) error {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return err
	}
	if version >= len(names) {
		return nil
	}
	if version == 0 && o.MustExist {
		return openerror.Errorf(openerror.NoData, nil, "the database at %s contains no petcat data; check its address", place(conn.Config()))
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// The lock is a transaction's and not a session's: behind a pooler, a session is
	// nothing that one could hold.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return err
	}
	if version, err = schemaVersion(ctx, tx); err != nil || version >= len(names) {
		return err
	}
	for _, name := range names[version:] {
		statements, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, string(statements)); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `UPDATE petcat_schema SET version = $1`, int64(len(names))); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// schemaVersion returns how many migrations were made.
func schemaVersion(ctx context.Context, from interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
},
) (version int, err error) {
	var there bool
	// Without a table in the query, to_regclass may know nothing of what was committed
	// while this transaction waited.
	err = from.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('petcat_schema'))`).Scan(&there)
	if err == nil && there {
		err = from.QueryRow(ctx, `SELECT version FROM petcat_schema`).Scan(&version)
	}
	return version, err
}
