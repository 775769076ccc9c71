package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"petcat/internal/openerror"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versions is the table of the migrations that were made. Its name is not the
// library's, which another program in the same schema may use.
const versions = "petcat_schema"

// migrationLock is the number of the advisory lock that is held while the schema is
// changed: "petcat" in ASCII. Such locks are each database's own.
const migrationLock = 0x706574636174

// migrate makes the schema or brings it up to date, if that is allowed, forward
// only, each file in a transaction of its own. Several nodes may start at once: one
// does it, the others wait.
func migrate(ctx context.Context, conn *pgx.Conn, files fs.FS, config *pgx.ConnConfig, o Options) error {
	target, err := lastMigration(files)
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn, target, config)
	if err != nil || version == target {
		return err
	}
	if version == noSchema && o.MustExist {
		return noData(config)
	}
	// The lock is a transaction's and not a session's: behind a pooler, a session
	// is nothing that one could hold. The migrations run beside it.
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', '0', true), pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return err
	}
	version, err = schemaVersion(ctx, tx, target, config)
	switch {
	case err != nil || version == target:
		return err
	case version <= 0 && o.MustExist:
		return noData(config)
	case version > 0 && !o.Migrate:
		return openerror.Errorf(openerror.OlderSchema, nil, "the database at %s has an older schema (%d; this version needs %d); use the version that serves it", place(config), version, target)
	}
	return up(ctx, files, config)
}

// lastMigration returns the number of the newest migration.
func lastMigration(files fs.FS) (last int64, err error) {
	sources, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range sources {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return 0, err
		}
		last = max(last, n)
	}
	return last, nil
}

// rowQuerier is a connection or a transaction.
type rowQuerier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// noSchema stands for the version of a database in which nobody began to make one.
const noSchema = -1

// schemaVersion returns the number of the newest migration that was made: 0 while
// another process is making the first, or when one was ended while it did, and
// noSchema for none. One above target is an error. What is below may be about to be
// changed: who does holds the lock.
func schemaVersion(ctx context.Context, from rowQuerier, target int64, config *pgx.ConnConfig) (int64, error) {
	const (
		exists = `SELECT to_regclass('` + versions + `') IS NOT NULL`
		query  = `SELECT coalesce(max(version_id), 0) FROM ` + versions
	)
	var there bool
	if err := from.QueryRow(ctx, exists, pgx.QueryExecModeExec).Scan(&there); err != nil || !there {
		return noSchema, err
	}
	var version int64
	if err := from.QueryRow(ctx, query, pgx.QueryExecModeExec).Scan(&version); err != nil {
		return 0, err
	}
	if version > target {
		return 0, openerror.Errorf(openerror.NewerSchema, nil, "the database at %s was written by a newer petcat (its schema is %d, this program knows %d); use that version or later", place(config), version, target)
	}
	return version, nil
}

func noData(config *pgx.ConnConfig) error {
	return openerror.Errorf(openerror.NoData, nil, "the database at %s contains no petcat data; check its address", place(config))
}

// up runs the migrations. The caller holds the lock.
func up(ctx context.Context, files fs.FS, config *pgx.ConnConfig) error {
	config = config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // each statement runs once
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()), goose.WithTableName(versions))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("change the schema: %w", err)
	}
	return nil
}
