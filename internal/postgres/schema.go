package postgres

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/schema"
)

//go:embed *.sql
var tables embed.FS

func migrations() []string {
	return schema.Migrations(tables, strings.NewReplacer(
		// The second part of the migration defines unixepoch.
		`CAST(unixepoch('subsec') * 1000 AS INTEGER)`, `CAST(date_part('epoch', clock_timestamp()) * 1000 AS bigint)`,
		" INTEGER", " bigint",
		" BLOB", " bytea",
		// Byte by byte: an update of an operating system's collation damages indexes.
		" TEXT", ` text COLLATE "C"`,
		" STRICT, WITHOUT ROWID", "",
		" STRICT", "",
	))
}

// migrationLock is the key of a database's advisory lock for migrations: "petcat" in ASCII.
const migrationLock = 0x706574636174

// migrate runs the missing migrations in one transaction. If several nodes start at once, one
// migrates and the others wait. Migrations only add, so this program works with a database that has
// more of them.
func migrate(ctx context.Context, conn *pgx.Conn, migrations []string, o Options) error {
	version, err := schemaVersion(ctx, conn)
	if err != nil || version >= len(migrations) {
		return err
	}
	if version == 0 && o.MustExist {
		return petcat.Unusablef(nil,
			"the database at %s contains no petcat data; check the address, give the location of the data with --data (PETCAT_DATA) or --database (PETCAT_DATABASE), or create a new deployment there with petcat serve or petcat init", place(conn.Config()))
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// The lock belongs to the transaction, because a pooler does not keep sessions.
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

// NewerSchema implements [store.Database].
func (s *DB) NewerSchema(ctx context.Context) (newer bool, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		version, err := schemaVersion(ctx, conn)
		newer = version > len(migrations())
		return err
	})
	return newer, translate(err, "read the version of the schema")
}

// schemaVersion returns the number of migrations that the database has. The first one creates the
// table petcat_schema.
func schemaVersion(ctx context.Context, from interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
},
) (version int, err error) {
	var there bool
	// Without a table in the query, to_regclass may miss a table that was committed while this
	// transaction waited.
	err = from.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('petcat_schema'))`).Scan(&there)
	if err == nil && there {
		err = from.QueryRow(ctx, `SELECT version FROM petcat_schema`).Scan(&version)
	}
	return version, err
}
