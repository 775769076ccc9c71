package postgres

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// unlimited removes the timeouts of a role and of [setSession], which apply to requests.
const unlimited = `
	SELECT set_config(name, '0', true)
	FROM pg_settings
	WHERE name IN (
		'statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout', 'tcp_user_timeout'
	)`

// longRead runs fn in a read-only transaction without timeouts. It uses its own connection, because
// it may take hours, and requests need the connections of the pools.
func (s *DB) longRead(ctx context.Context, level pgx.TxIsoLevel, fn func(pgx.Tx) error) error {
	config := s.readers.Config()
	config.MinConns = 0
	own, err := newPool(ctx, config, Options{}, 1)
	if err != nil {
		return err
	}
	defer own.Close()
	err = own.with(ctx, func(ctx context.Context, c *pgx.Conn) error {
		tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: level, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }()
		if _, err := tx.Exec(ctx, unlimited); err != nil {
			return err
		}
		return fn(tx)
	})
	return withCause(ctx, err)
}

// Backup copies all tables in one snapshot. It does not delay requests. It returns a
// [petcat.UnusableError] if the schema is newer than this program: the copy would lack the tables
// and columns that the program does not know.
func (s *DB) Backup(ctx context.Context, to store.Copy) error {
	tables, err := to.Tables(ctx)
	if err != nil {
		return err
	}
	return translate(s.longRead(ctx, pgx.RepeatableRead, func(tx pgx.Tx) error {
		version, err := schemaVersion(ctx, tx)
		if known := len(migrations()); err == nil && version > known {
			err = petcat.Unusablef(nil,
				"the database was migrated by a newer petcat (its schema is %d, this program knows %d); make the backup with that version or later", version, known)
		}
		if err != nil {
			return err
		}
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

// Restore copies a backup into an empty database, in one transaction. It returns a
// [petcat.UnusableError] if the database contains data or a node is running.
func (s *DB) Restore(ctx context.Context, by petcat.Actor, from store.Copy) error {
	tables, err := from.Tables(ctx)
	if err != nil {
		return err
	}
	// Without a timeout, because it takes longer than a write.
	err = s.writers.with(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return s.alone(ctx, c, true, func(t *store.Tx) error { return restore(ctx, c, t, by, tables, from) })
	})
	return translate(err, "restore")
}

// restore restores without the commit. The transaction holds the counter's row, so no other write runs.
func restore(ctx context.Context, c *pgx.Conn, t *store.Tx, by petcat.Actor, tables []store.Table, from store.Copy) error {
	if _, err := t.Exec(unlimited); err != nil {
		return err
	}
	empty, err := t.IsEmpty()
	if err != nil {
		return err
	}
	if !empty {
		return petcat.Unusablef(nil,
			"the database already contains data; choose an empty database (--database) or a new data directory (--data)")
	}
	if err := checkUnused(t); err != nil {
		return err
	}
	for _, table := range tables {
		if table.Name == "nodes" { // empty in a backup; a node that has just started may be in it here
			continue
		}
		if err := fill(ctx, c, table, from); err != nil {
			return err
		}
	}
	if err := t.Restored(by); err != nil {
		return err
	}
	// Without statistics, the planner treats the tables as empty.
	if _, err := t.Exec(`ANALYZE`); err != nil {
		return err
	}
	// A node that started during the restore has read an empty database.
	return checkUnused(t)
}

// checkUnused returns an error if a node is running.
func checkUnused(t *store.Tx) error {
	nodes, err := store.RunningNodes(t)
	if err == nil && len(nodes) > 0 {
		return petcat.TemporarilyUnusablef(nil, "a server uses the database; stop it, then restore again (after a kill, wait 15 s)")
	}
	return err
}

// fill replaces the rows that each table of an empty deployment has.
func fill(ctx context.Context, c *pgx.Conn, table store.Table, from store.Copy) error {
	into, err := c.Prepare(ctx, "", `SELECT `+strings.Join(table.Columns, ", ")+` FROM `+table.Name)
	if state := sqlState(err); state == "42P01" || state == "42703" { // no such table, or column
		return petcat.Unusablef(err,
			"the backup was made by a newer petcat (its table %s has data that this program does not know); use that version or later", table.Name)
	}
	if err == nil && table.Name != "audit" { // empty, and a trigger forbids DELETE
		_, err = c.Exec(ctx, `DELETE FROM `+table.Name)
	}
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(from.Rows(table))
	defer stop()
	_, err = c.CopyFrom(ctx, pgx.Identifier{table.Name}, table.Columns, pgx.CopyFromFunc(func() ([]any, error) {
		row, err, _ := next() // nil, nil after the last
		for i := range row {
			if n, ok := row[i].(int64); ok && into.Fields[i].DataTypeOID == pgtype.BoolOID {
				row[i] = n != 0
			}
		}
		return row, err
	}))
	return err
}

// Integrity always reports an intact database: PostgreSQL has its own checksums and constraints.
func (s *DB) Integrity(context.Context) (findings []string, err error) { return nil, nil }

// Alone runs fn unless another node is running Alone for the same job. The lock belongs to a transaction, because a
// pooler does not keep sessions. If the connection with the lock is lost, another node may run Alone: the
// context of fn is canceled, and Alone returns an error.
func (s *DB) Alone(ctx context.Context, j store.Job, fn func(context.Context) error) error {
	var failed error // of fn
	// A snapshot would keep the server from removing dead rows until fn returns. The extended protocol
	// would keep the snapshot of the last statement.
	err := s.longRead(ctx, pgx.ReadCommitted, func(tx pgx.Tx) error {
		var locked bool
		err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, pgx.QueryExecModeSimpleProtocol, migrationLock+int64(j)).Scan(&locked)
		if err != nil || !locked {
			return err
		}
		failed = whileConnected(ctx, tx.Conn(), fn)
		return nil
	})
	return cmp.Or(translate(err, "lock a job of one node"), failed)
}

// whileConnected runs fn while a connection is idle. If the connection is lost, it cancels the context of
// fn and returns an error.
func whileConnected(ctx context.Context, c *pgx.Conn, fn func(context.Context) error) error {
	held, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	watched, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// There are no notifications: it returns when the connection is lost, or after stop.
		if _, err := c.WaitForNotification(watched); watched.Err() == nil {
			lose(errLockLost(err))
		}
	}()
	failed := fn(held)
	stop()
	<-ended
	if ctx.Err() != nil {
		return failed
	}
	if held.Err() != nil {
		return context.Cause(held)
	}
	if err := c.Ping(ctx); err != nil {
		return errLockLost(err)
	}
	return failed
}

func errLockLost(cause error) error {
	e := petcat.Errorf(petcat.CodeServiceUnavailable,
		"the connection with the lock of a scheduled backup, or of webhooks, was lost, so another node may do the same; this node stopped")
	return e.WithCause(cause)
}
