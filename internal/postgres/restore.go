package postgres

import (
	"context"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/backup"
)

// restoreChunk is how many rows one statement brings. The server checks the
// references of a statement's rows at its end, and says nothing meanwhile.
const restoreChunk = 20_000

// Restore implements [backup.Target]. It is not tried again.
func (s *Store) Restore(ctx context.Context, by petcat.Actor, from *backup.Reader) error {
	watched, watch := newWatch(ctx, s.silence)
	defer watch.end()
	rows := &rowSource{from: from, watch: watch}
	committing := false
	err := s.pool.write(watched, func(ctx context.Context, conn *pgx.Conn) error {
		t, err := begin(ctx, conn, now(s.clock))
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
		err = from.Blame(err)
	}
	return translate(because(watched, err), "restore")
}

// restore does all of a restore but the commit. The transaction holds the
// counter's row, so nobody else can write.
func (t *tx) restore(by petcat.Actor, rows *rowSource) error {
	// A restore takes longer than a change, and no server waits for it.
	const patient = `SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '60000', true)`
	if err := t.exec(patient); err != nil {
		return err
	}
	if err := t.wantEmpty(); err != nil {
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
	h := rows.from.Header()
	const counter = `UPDATE counter SET revision = $1, access_revision = $2, category_id = $3, account_id = $4, key_id = $5 WHERE id = 1`
	err := t.exec(counter, int64(h.Revision), int64(h.AccessRevision), int64(h.LastCategory), int64(h.LastAccount), int64(h.LastKey))
	if err != nil {
		return err
	}
	if err := t.record(by, backup.AuditRestore, h.Dataset, h.Detail()); err != nil {
		return err
	}
	// Until the server looks by itself, it would take the tables for empty.
	if err := t.exec(`ANALYZE account, api_key, ban, category, idempotency, day_count, audit`); err != nil {
		return err
	}
	// Who began to serve meanwhile has seen an empty database.
	return t.wantUnused()
}

// wantEmpty looks whether anything was ever written, and whether anybody serves.
func (t *tx) wantEmpty() error {
	const query = `SELECT EXISTS (SELECT 1 FROM account) OR EXISTS (SELECT 1 FROM api_key) OR EXISTS (SELECT 1 FROM category)
		OR EXISTS (SELECT 1 FROM idempotency) OR EXISTS (SELECT 1 FROM day_count) OR EXISTS (SELECT 1 FROM audit)
		OR (SELECT category_id FROM counter WHERE id = 1) <> 0`
	var data bool
	if err := t.get(query, nil, &data); err != nil {
		return err
	}
	if data || t.counters != (lastNumbers{}) {
		return backup.ErrNotEmpty
	}
	return t.wantUnused()
}

func (t *tx) wantUnused() error {
	// By the database's clock, as in Beat.
	const query = `SELECT EXISTS (SELECT 1 FROM node WHERE seen_at > clock_timestamp() - interval '10 seconds')`
	var serves bool
	if err := t.get(query, nil, &serves); err != nil {
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
	columns := make([]string, 0, len(rows.kind.Columns()))
	for _, c := range rows.kind.Columns() {
		columns = append(columns, c.Name)
	}
	_, err := t.tx.CopyFrom(t.ctx, pgx.Identifier{table(rows.kind)}, columns, rows)
	return err
}

// table returns the table of a kind. Its columns are named as in the
// format.
func table(k backup.Kind) string {
	switch k {
	case backup.Accounts:
		return "account"
	case backup.Keys:
		return "api_key"
	case backup.Bans:
		return "ban"
	case backup.Categories:
		return "category"
	case backup.IdempotencyKeys:
		return "idempotency"
	case backup.DayCounts:
		return "day_count"
	case backup.AuditEntries:
		return "audit"
	default:
		return ""
	}
}

// rowSource gives the driver a reader's rows, those of one kind at a time: it
// implements [pgx.CopyFromSource], and looks one row ahead to know where a kind
// ends.
type rowSource struct {
	from   *backup.Reader
	watch  *watch
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
