package postgres

import (
	"context"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"petcat"
	"petcat/internal/store"
)

// unlimited lifts the limits of a role, which are meant for requests.
const unlimited = `SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`

// during runs fn in a transaction that writes nothing and may take long.
func (s *Store) during(ctx context.Context, fn func(context.Context, pgx.Tx) error) error {
	err := try(ctx, s.reads, s.readers, func(ctx context.Context, c *pgx.Conn) (begun bool, err error) {
		tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return false, err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		if _, err := tx.Exec(ctx, unlimited); err != nil {
			return true, err
		}
		return true, fn(ctx, tx)
	})
	return because(ctx, err)
}

// Backup copies all tables, as of one moment. It delays no request.
func (s *Store) Backup(ctx context.Context, to store.Copy) error {
	tables, err := to.Tables(ctx)
	if err != nil {
		return err
	}
	return translate(s.during(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, t := range tables {
			if err := copyTable(ctx, tx, t, to); err != nil {
				return err
			}
		}
		return nil
	}), "back up")
}

func copyTable(ctx context.Context, tx pgx.Tx, t store.Table, to store.Copy) error {
	rows, err := tx.Query(ctx, `SELECT `+strings.Join(t.Columns, ", ")+` FROM `+t.Name)
	if err != nil {
		return err
	}
	defer rows.Close()
	err = to.Fill(t, func(yield func([]any, error) bool) {
		for rows.Next() {
			if row, err := rows.Values(); !yield(row, err) {
				return
			}
		}
	})
	if lost := rows.Err(); lost != nil {
		return lost
	}
	return err
}

// Restore fills an empty database with a backup, in one transaction. It returns an
// [petcat.UnusableError] if there is data, or a node serves.
func (s *Store) Restore(ctx context.Context, by petcat.Actor, from store.Copy) error {
	tables, err := from.Tables(ctx)
	if err != nil {
		return err
	}
	// It takes longer than a write, and no server waits for it.
	err = s.writers.with(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := s.transaction(ctx, c, true, func(t *store.Tx) error { return restore(ctx, c, t, by, tables, from) })
		return err
	})
	return translate(err, "restore")
}

// restore does all of a restore but the commit. The transaction holds the counter's row, so
// nobody else can write.
func restore(ctx context.Context, c *pgx.Conn, t *store.Tx, by petcat.Actor, tables []store.Table, from store.Copy) error {
	if _, err := t.Exec(unlimited); err != nil {
		return err
	}
	empty, err := t.IsEmpty()
	if err != nil {
		return err
	}
	if !empty {
		return petcat.Unusablef(nil, "the database already contains data; choose an empty database (--database) or a new data directory (--data)")
	}
	if err := wantUnused(t); err != nil {
		return err
	}
	for _, table := range tables {
		if table.Name == "nodes" { // in a backup it is empty; here it may tell of a node that began to serve
			continue
		}
		if err := fill(ctx, c, table, from); err != nil {
			return err
		}
	}
	if err := t.Restored(by); err != nil {
		return err
	}
	// Until the server looks by itself, it would take the tables for empty.
	if _, err := t.Exec(`ANALYZE`); err != nil {
		return err
	}
	// A node that began to serve meanwhile has seen an empty database.
	return wantUnused(t)
}

// wantUnused returns an error if a node serves.
func wantUnused(t *store.Tx) error {
	nodes, err := store.RunningNodes(t, dialect())
	if err == nil && len(nodes) > 0 {
		return petcat.TemporarilyUnusablef(nil, "a server uses the database; stop it, and restore again (one that was killed counts for 15 s)")
	}
	return err
}

// fill replaces the rows of a table, in which there is only what makes an empty deployment.
func fill(ctx context.Context, c *pgx.Conn, table store.Table, from store.Copy) error {
	if table.Name != "audit" { // which is empty, and from which nothing can be deleted
		if _, err := c.Exec(ctx, `DELETE FROM `+table.Name); err != nil {
			return err
		}
	}
	none, err := c.Query(ctx, `SELECT `+strings.Join(table.Columns, ", ")+` FROM `+table.Name+` LIMIT 0`)
	if err != nil {
		return err
	}
	columns := none.FieldDescriptions()
	none.Close()
	next, stop := iter.Pull2(from.Rows(table))
	defer stop()
	_, err = c.CopyFrom(ctx, pgx.Identifier{table.Name}, table.Columns, pgx.CopyFromFunc(func() ([]any, error) {
		row, err, _ := next() // nil, nil after the last
		for i := range row {
			if n, ok := row[i].(int64); ok && columns[i].DataTypeOID == pgtype.BoolOID {
				row[i] = n != 0
			}
		}
		return row, err
	}))
	return err
}

// Integrity returns nothing: the server's own checksums and constraints guard the data.
func (s *Store) Integrity(context.Context) (findings []string, err error) { return nil, nil }

// backupLock is the number of the advisory lock of the node that makes a scheduled backup.
const backupLock = migrationLock + 1

// Alone runs fn unless another node runs one, and reports whether it did. The lock is a
// transaction's: behind a pooler, nobody can hold a session.
func (s *Store) Alone(ctx context.Context, fn func(context.Context) error) (ran bool, err error) {
	var failed error // of fn
	err = s.during(ctx, func(ctx context.Context, tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, int64(backupLock)).Scan(&ran)
		if err == nil && ran {
			failed = fn(ctx)
		}
		return err
	})
	if err != nil {
		return false, translate(err, "lock the scheduled backups")
	}
	return ran, failed
}
