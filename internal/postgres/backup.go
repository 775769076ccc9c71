package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"petcat/internal/backup"
	"petcat/internal/store"
)

// copySilence is how long the database may be silent during a copy: it may have to
// count or to sort a whole table before the first row, or to check the references
// of restoreChunk rows.
const copySilence = time.Minute

// Backup implements [backup.Source].
func (s *Store) Backup(ctx context.Context, to backup.Sink) error {
	watched, watch := newWatchdog(ctx, s.silence)
	defer watch.end()
	var stopped error // by the sink
	err := s.pool.do(watched, func(ctx context.Context, c *pgx.Conn) error {
		// One snapshot for all statements.
		return readOnly(ctx, c, func(tx pgx.Tx) error {
			h, err := s.BackupHeader(conn{ctx: ctx, querier: tx, texts: &s.pool.texts}, watch.wait)
			if err != nil {
				return err
			}
			stopped = to.Begin(h)
			for _, k := range backup.Kinds() {
				if err == nil && stopped == nil {
					stopped, err = backupRows(ctx, tx, watch, k, to)
				}
			}
			return err
		})
	})
	if stopped != nil {
		return stopped
	}
	return translate(because(watched, err), "back up")
}

// BackupPaced implements [backup.PacedSource]. The copy delays no request.
func (s *Store) BackupPaced(ctx context.Context, _ string, rest func() error, to backup.Sink) error {
	return s.Backup(ctx, backup.Paced(to, rest))
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

// backupRows tells the rows of one kind, as they come from the server: neither
// side keeps them.
func backupRows(ctx context.Context, tx pgx.Tx, watch *watchdog, k backup.Kind, to backup.Sink) (stopped, err error) {
	watch.wait()
	rows, err := tx.Query(ctx, store.SelectRows(k))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, err
		}
		watch.pause()
		if err := to.Row(k, values); err != nil {
			return err, nil
		}
		watch.wait()
	}
	return nil, rows.Err()
}

// watchdog ends a context when the database is waited for too long. The other end of
// a copy, which may be a person at a terminal or a tape, may take its time.
type watchdog struct {
	silence time.Duration // that is allowed
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

func newWatchdog(ctx context.Context, silence time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watchdog{silence: silence, cancel: cancel, timer: time.AfterFunc(silence, func() { cancel(errNoAnswer) })}
}

func (w *watchdog) wait()  { w.timer.Reset(w.silence) }
func (w *watchdog) pause() { w.timer.Stop() }

func (w *watchdog) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// Integrity returns nothing: what SQL cannot see, the server's own checksums
// guard.
func (s *Store) Integrity(context.Context) (findings []string, err error) { return nil, nil }
