package postgres

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/store"
)

// restoreChunk is how many rows one statement brings. The server checks the
// references of a statement's rows at its end, and says nothing meanwhile.
const restoreChunk = 20_000

// Restore implements [backup.Target]. It is not tried again.
func (s *Store) Restore(ctx context.Context, by petcat.Actor, from *backup.Reader) error {
	watched, watch := newWatchdog(ctx, s.silence)
	defer watch.end()
	rows := &rowSource{from: from, watch: watch}
	committing := false
	err := s.pool.write(watched, func(ctx context.Context, c *pgx.Conn) error {
		t, err := s.begin(ctx, c)
		if err != nil {
			return err
		}
		if err := t.restore(by, rows); err != nil {
			_ = t.tx.Rollback(context.WithoutCancel(ctx))
			return err
		}
		committing = true
		return t.tx.Commit(ctx)
	})
	if committing && err != nil && severityOf(err) != statement {
		return errors.Join(backup.ErrUnknown, translate(err, "commit the restore"))
	}
	if rows.err != nil {
		return rows.err // whatever the server made of it
	}
	if err != nil && watched.Err() == nil && severityOf(err) == statement {
		err = from.RootCause(err)
	}
	return translate(because(watched, err), "restore")
}

// restore does all of a restore but the commit. The transaction holds the
// counter's row, so nobody else can write.
func (t *tx) restore(by petcat.Actor, rows *rowSource) error {
	// A restore takes longer than a change, and no server waits for it.
	const patient = `SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '60000', true)`
	if _, err := t.Exec(patient); err != nil {
		return err
	}
	if err := t.WantEmpty(); err != nil {
		return err
	}
	if err := t.wantUnused(); err != nil {
		return err
	}
	for rows.more() {
		if err := t.copyRows(rows); err != nil {
			return err
		}
	}
	if rows.err != nil {
		return rows.err
	}
	if err := t.Restored(by, rows.from.Header()); err != nil {
		return err
	}
	if err := t.Finish(); err != nil {
		return err
	}
	// Until the server looks by itself, it would take the tables for empty.
	var tables []string
	for _, k := range backup.Kinds() {
		name, _ := store.Table(k)
		tables = append(tables, name)
	}
	if _, err := t.Exec(`ANALYZE ` + strings.Join(tables, ", ")); err != nil {
		return err
	}
	// A node that began to serve meanwhile has seen an empty database.
	return t.wantUnused()
}

// wantUnused returns an error if a node serves.
func (t *tx) wantUnused() error {
	// By the database's clock, as in Beat.
	const query = `SELECT EXISTS (SELECT 1 FROM node WHERE seen_at > clock_timestamp() - interval '10 seconds')`
	var serves bool
	if _, err := t.QueryRow(query, nil, &serves); err != nil {
		return err
	}
	if serves {
		return backup.ErrInUse
	}
	return nil
}

// copyRows writes the next rows of one kind, up to restoreChunk of them.
func (t *tx) copyRows(rows *rowSource) error {
	rows.begin()
	table, columns := store.Table(rows.kind)
	_, err := t.tx.CopyFrom(t.ctx, pgx.Identifier{table}, columns, rows)
	return err
}

// rowSource gives the driver a reader's rows, those of one kind at a time: it
// implements [pgx.CopyFromSource], and looks one row ahead to know where a kind
// ends.
type rowSource struct {
	from   *backup.Reader
	watch  *watchdog
	kind   backup.Kind // of this statement's rows
	sent   int         // in this statement
	next   backup.Kind // of the row ahead
	values []any       // of the row ahead
	ahead  bool        // there is one
	err    error       // of the reader
}

// more reports whether there is another row.
func (r *rowSource) more() bool {
	if !r.ahead && r.err == nil {
		r.watch.pause()
		var err error
		r.next, r.values, err = r.from.Next()
		r.watch.wait()
		if r.ahead = err == nil; !r.ahead && !errors.Is(err, io.EOF) {
			r.err = err
		}
	}
	return r.ahead
}

// begin makes the row ahead the first one of a statement.
func (r *rowSource) begin() { r.kind, r.sent = r.next, 0 }

// Next implements [pgx.CopyFromSource].
func (r *rowSource) Next() bool { return r.more() && r.next == r.kind && r.sent < restoreChunk }

// Values implements [pgx.CopyFromSource].
func (r *rowSource) Values() ([]any, error) {
	r.ahead = false
	r.sent++
	return r.values, nil
}

// Err implements [pgx.CopyFromSource].
func (r *rowSource) Err() error { return r.err }
