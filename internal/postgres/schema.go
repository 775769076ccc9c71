package postgres

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/schema"
)

//go:embed *.sql
var tables embed.FS

func migrations() []string {
	return schema.Migrations(tables, strings.NewReplacer(
		" INTEGER", " bigint",
		" BLOB", " bytea",
		// Byte by byte: the collations of operating systems change, and damage indexes when
		// they do.
		" TEXT", ` text COLLATE "C"`,
		" STRICT, WITHOUT ROWID", "",
		" STRICT", "",
	))
}

// migrationLock is the number of the advisory lock that is held while the schema is
// changed: "petcat" in ASCII. Such locks are each database's own.
const migrationLock = 0x706574636174

// migrate makes the schema or brings it up to date, in one transaction. Several nodes may start
// at once: one does it, the others wait. Migrations only add, so this program works with a
// database that has had more than it knows.
func migrate(ctx context.Context, conn *pgx.Conn, migrations []string, o Options) error {
	version, err := schemaVersion(ctx, conn)
	if err != nil || version >= len(migrations) {
		return err
	}
	if version == 0 && o.MustExist {
		return petcat.Unusablef(nil, "the database at %s contains no petcat data; check its address, give its location with --data (PETCAT_DATA) or --database (PETCAT_DATABASE), or create a new deployment there with petcat serve or petcat init", place(conn.Config()))
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
	if version, err = schemaVersion(ctx, tx); err != nil || version >= len(migrations) {
		return err
	}
	script := strings.Join(migrations[version:], "") + fmt.Sprintf("UPDATE petcat_schema SET version = %d", len(migrations))
	if _, err := tx.Exec(ctx, script); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// schemaVersion returns how many migrations were made. One of them makes the table petcat_schema.
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
