package postgres

import (
	"context"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"petcat"
	"petcat/internal/openerror"
	"petcat/internal/store"
)

// unlimited lifts the limits of a role, which are meant for requests.
const unlimited = `SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`

// Backup copies all tables, as of one moment. It delays no request.
func (s *Store) Backup(ctx context.Context, to store.Copy) error {
	tables, err := to.Tables(ctx)
	if err != nil {
		return err
	}
	var stopped error // by the file
	err = s.run(ctx, s.reads, s.pool, func(ctx context.Context, c *pgx.Conn) error {
		tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was written
		_, err = tx.Exec(ctx, unlimited)
		for _, t := range tables {
			if err == nil && stopped == nil {
				stopped, err = copyTable(ctx, tx, t, to)
			}
		}
		return err
	})
	if stopped != nil {
		return stopped
	}
	return translate(because(ctx, err), "back up")
}

func copyTable(ctx context.Context, tx pgx.Tx, t store.Table, to store.Copy) (stopped, err error) {
	rows, err := tx.Query(ctx, `SELECT `+strings.Join(t.Columns, ", ")+` FROM `+t.Name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	stopped = to.Fill(t, func(yield func([]any, error) bool) {
		for rows.Next() {
			if row, err := rows.Values(); !yield(row, err) {
				return
			}
		}
	})
	return stopped, rows.Err()
}

// Restore fills an empty database with a backup, in one transaction. It returns an
// [openerror.Error] if there is data, or a node serves.
func (s *Store) Restore(ctx context.Context, by petcat.Actor, from store.Copy) error {
	tables, err := from.Tables(ctx)
	if err != nil {
		return err
	}
	// It takes longer than a write, and no server waits for it.
	err = s.pool.with(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := s.transaction(ctx, c, true, func(t *store.Tx) error { return (&restoring{t, ctx, c}).run(by, tables, from) })
		return err
	})
	return finished(err, "restore", "the database did not respond, and the restore may have been committed")
}

// restoring is the transaction of a restore. It holds the counter's row, so nobody else can
// write.
type restoring struct {
	*store.Tx
	ctx  context.Context //nolint:containedctx // it lives no longer than the call
	conn *pgx.Conn
}

// run does all of a restore but the commit.
func (t *restoring) run(by petcat.Actor, tables []store.Table, from store.Copy) error {
	if _, err := t.Exec(unlimited); err != nil {
		return err
	}
	empty, err := t.IsEmpty()
	if err != nil {
		return err
	}
	if !empty {
		return openerror.Errorf(openerror.NotEmpty, nil, "the database already contains data")
	}
	if err := t.wantUnused(); err != nil {
		return err
	}
	names := make([]string, len(tables))
	for i, table := range tables {
		names[i] = table.Name
		if table.Name == "nodes" { // in a backup it is empty; here it may tell of a node that began to serve
			continue
		}
		if err := t.fill(table, from); err != nil {
			return err
		}
	}
	if err := t.Restored(by); err != nil {
		return err
	}
	// Until the server looks by itself, it would take the tables for empty.
	if _, err := t.Exec(`ANALYZE ` + strings.Join(names, ", ")); err != nil {
		return err
	}
	// A node that began to serve meanwhile has seen an empty database.
	return t.wantUnused()
}

// wantUnused returns an error if a node serves.
func (t *restoring) wantUnused() error {
	nodes, err := store.RunningNodes(t, dialect())
	if err == nil && len(nodes) > 0 {
		return openerror.Errorf(openerror.InUse, nil, "a server uses the database; stop it, and restore again (one that was killed counts for 15 s)")
	}
	return err
}

// fill replaces the rows of a table, in which there is only what makes an empty deployment.
func (t *restoring) fill(table store.Table, from store.Copy) error {
	if table.Name != "audit" { // which is empty, and from which nothing can be deleted
		if _, err := t.conn.Exec(t.ctx, `DELETE FROM `+table.Name); err != nil {
			return err
		}
	}
	none, err := t.conn.Query(t.ctx, `SELECT `+strings.Join(table.Columns, ", ")+` FROM `+table.Name+` LIMIT 0`)
	if err != nil {
		return err
	}
	columns := none.FieldDescriptions()
	none.Close()
	next, stop := iter.Pull2(from.Rows(table))
	defer stop()
	_, err = t.conn.CopyFrom(t.ctx, pgx.Identifier{table.Name}, table.Columns, pgx.CopyFromFunc(func() ([]any, error) {
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
	err = s.pool.with(ctx, func(ctx context.Context, c *pgx.Conn) error {
		tx, err := c.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		if _, err := tx.Exec(ctx, unlimited); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, int64(backupLock)).Scan(&ran); err != nil || !ran {
			return err
		}
		failed = fn(ctx)
		return nil
	})
	if err != nil {
		return false, translate(because(ctx, err), "lock the scheduled backups")
	}
	return ran, failed
}
