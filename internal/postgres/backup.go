package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat/internal/backup"
)

// copySilence is how long the database may be silent during a copy: it may have to
// count or to sort a whole table before the first row, or to check the references
// of restoreChunk rows.
const copySilence = time.Minute

// backupQuery reads all rows of a kind, in the order and with the columns of the
// format.
func backupQuery(k backup.Kind) string {
	switch k {
	case backup.Accounts:
		return `SELECT id, name, plan, per_minute, per_day, created_at, closed_at, revision FROM account ORDER BY id`
	case backup.Keys:
		return `SELECT id, account_id, hash, label, hint, created_at, expires_at, disabled_at, revoked_at, successor_id, revision FROM api_key ORDER BY id`
	case backup.Bans:
		return `SELECT key_id, account_id, level, started_at, ends_at, early_retries, shadow, lifted_at, lifted_by, revision FROM ban ORDER BY key_id`
	case backup.Categories:
		return `SELECT id, name, description, revision, account_id, created_at FROM category ORDER BY id`
	case backup.IdempotencyKeys:
		return `SELECT account_id, key, fingerprint, category_id, created_at FROM idempotency ORDER BY account_id, key`
	case backup.DayCounts:
		return `SELECT day, account_id, count FROM day_count ORDER BY day, account_id`
	case backup.AuditEntries:
		return `SELECT sequence, at, actor, action, subject, detail, hash FROM audit ORDER BY sequence`
	default:
		return ""
	}
}

// Backup implements [backup.Source].
func (s *Store) Backup(ctx context.Context, to backup.Sink) error {
	watched, watch := newWatch(ctx, s.silence)
	defer watch.end()
	err := s.pool.do(watched, func(ctx context.Context, conn *pgx.Conn) error {
		// One snapshot for all statements.
		return readOnly(ctx, conn, func(tx pgx.Tx) error {
			h, err := s.backupHeader(ctx, tx, watch)
			if err != nil {
				return err
			}
			if err := to.Begin(h); err != nil {
				return stop(err)
			}
			for _, k := range backup.Kinds() {
				if err := backupRows(ctx, tx, watch, k, to); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if s, ok := errors.AsType[*stopped](err); ok {
		return s.error
	}
	return translate(because(watched, err), "back up")
}

// readOnly runs fn in a transaction that sees one moment.
func readOnly(ctx context.Context, conn *pgx.Conn, fn func(pgx.Tx) error) error {
	// A role may have limits that are meant for requests.
	const unlimited = `SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was written
	if _, err := tx.Exec(ctx, unlimited); err != nil {
		return err
	}
	return fn(tx)
}

func (s *Store) backupHeader(ctx context.Context, tx pgx.Tx, watch *watch) (backup.Header, error) {
	const counter = `SELECT revision, access_revision, category_id, account_id, key_id FROM counter WHERE id = 1`
	h := backup.Header{
		TakenAt: now(s.clock), Environment: s.meta.environment, Dataset: backup.Dataset(s.meta.dataset),
		Rows: make(map[backup.Kind]int64),
	}
	err := tx.QueryRow(ctx, counter).Scan((*int64)(&h.Revision), (*int64)(&h.AccessRevision),
		(*int64)(&h.LastCategory), (*int64)(&h.LastAccount), (*int64)(&h.LastKey))
	if err != nil {
		return h, err
	}
	// A statement for each table, so that each has its time.
	for _, k := range backup.Kinds() {
		watch.wait()
		var rows int64
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM `+table(k)).Scan(&rows); err != nil {
			return h, err
		}
		h.Rows[k] = rows
	}
	return h, nil
}

// backupRows tells the rows of one kind, as they come from the server: neither
// side keeps them.
func backupRows(ctx context.Context, tx pgx.Tx, watch *watch, k backup.Kind, to backup.Sink) error {
	watch.wait()
	rows, err := tx.Query(ctx, backupQuery(k))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		watch.pause()
		if err := to.Row(k, values); err != nil {
			return stop(err)
		}
		watch.wait()
	}
	return rows.Err()
}

// watch ends a context when the database is waited for too long. The other end of
// a copy, which may be a person at a terminal or a tape, may take its time.
type watch struct {
	silence time.Duration // that is allowed
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

func newWatch(ctx context.Context, silence time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watch{silence: silence, cancel: cancel, timer: time.AfterFunc(silence, func() { cancel(errNoAnswer) })}
}

func (w *watch) wait()  { w.timer.Reset(w.silence) }
func (w *watch) pause() { w.timer.Stop() }

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// Integrity returns nothing: what SQL cannot see, the server's own checksums
// guard.
func (s *Store) Integrity(context.Context) (findings []string, err error) { return nil, nil }
