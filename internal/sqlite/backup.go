package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"petcat"
	"petcat/internal/backup"
)

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

// restoreQuery writes one row of a kind.
func restoreQuery(k backup.Kind) string {
	switch k {
	case backup.Accounts:
		return `INSERT INTO account (id, name, plan, per_minute, per_day, created_at, closed_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	case backup.Keys:
		return `INSERT INTO api_key (id, account_id, hash, label, hint, created_at, expires_at, disabled_at, revoked_at, successor_id, revision)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	case backup.Bans:
		return `INSERT INTO ban (key_id, account_id, level, started_at, ends_at, early_retries, shadow, lifted_at, lifted_by, revision)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	case backup.Categories:
		return `INSERT INTO category (id, name, description, revision, account_id, created_at) VALUES (?, ?, ?, ?, ?, ?)`
	case backup.IdempotencyKeys:
		return `INSERT INTO idempotency (account_id, key, fingerprint, category_id, created_at) VALUES (?, ?, ?, ?, ?)`
	case backup.DayCounts:
		return `INSERT INTO day_count (day, account_id, count) VALUES (?, ?, ?)`
	case backup.AuditEntries:
		return `INSERT INTO audit (sequence, at, actor, action, subject, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`
	default:
		return ""
	}
}

// Backup implements [backup.Source]. While it runs, the write-ahead log can only
// grow.
func (s *Store) Backup(ctx context.Context, to backup.Sink) error {
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return translate(err, "back up")
	}
	defer func() { _ = conn.Close() }()
	// One transaction sees one moment, whatever others commit meanwhile.
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return translate(err, "back up")
	}
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	h, err := s.backupHeader(ctx, conn)
	if err != nil {
		return translate(err, "back up")
	}
	if err := to.Begin(h); err != nil {
		return err
	}
	for _, k := range backup.Kinds() {
		var stopped error // by the sink
		err := conn.Raw(func(raw any) error {
			var err error
			stopped, err = backupRows(ctx, raw, k, to)
			return err
		})
		if stopped != nil {
			return stopped
		}
		if err != nil {
			return translate(err, "back up "+k.String())
		}
	}
	return nil
}

func (s *Store) backupHeader(ctx context.Context, conn *sql.Conn) (backup.Header, error) {
	const counter = `SELECT revision, access_revision, category_id, account_id, key_id FROM counter WHERE id = 1`
	const counts = `SELECT (SELECT count(*) FROM account), (SELECT count(*) FROM api_key), (SELECT count(*) FROM ban), (SELECT count(*) FROM category),
		(SELECT count(*) FROM idempotency), (SELECT count(*) FROM day_count), (SELECT count(*) FROM audit)`
	h := backup.Header{
		TakenAt: now(s.clock), Environment: s.meta.environment, Dataset: backup.Dataset(s.meta.dataset),
		Rows: make(map[backup.Kind]int64),
	}
	if err := conn.QueryRowContext(ctx, counter).Scan(&h.Revision, &h.AccessRevision, &h.LastCategory, &h.LastAccount, &h.LastKey); err != nil {
		return h, err
	}
	kinds := backup.Kinds() // in the order of the counts
	numbers, into := make([]int64, len(kinds)), make([]any, len(kinds))
	for i := range kinds {
		into[i] = &numbers[i]
	}
	err := conn.QueryRowContext(ctx, counts).Scan(into...)
	for i, k := range kinds {
		h.Rows[k] = numbers[i]
	}
	return h, err
}

// backupRows tells the rows of one kind. Like EachCategory it reads past
// database/sql.
func backupRows(ctx context.Context, raw any, k backup.Kind, to backup.Sink) (stopped, err error) {
	queryer, ok := raw.(driver.QueryerContext)
	if !ok {
		return nil, fmt.Errorf("the driver's connection is a %T and cannot be queried", raw)
	}
	rows, err := queryer.QueryContext(context.WithoutCancel(ctx), backupQuery(k), nil) // a context that can end costs a goroutine
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns := k.Columns()
	row, values := make([]driver.Value, len(columns)), make([]any, len(columns))
	for n := 0; ; n++ {
		if n%cancelCheck == 0 && ctx.Err() != nil {
			return context.Cause(ctx), nil
		}
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		}
		for i, v := range row {
			values[i] = v
			if flag, ok := v.(int64); ok && columns[i].Type == backup.Boolean {
				values[i] = flag != 0
			}
		}
		if err := to.Row(k, values); err != nil {
			return err, nil
		}
	}
}

// Restore implements [backup.Target]. The store is open for serving: so the
// write-ahead log is empty when it begins.
func (s *Store) Restore(ctx context.Context, by petcat.Actor, from *backup.Reader) error {
	// Who goes away stops the restore, and waits until it has stopped.
	patient := context.WithoutCancel(ctx)
	err := s.restore(ctx, patient, by, from)
	if isCommitError(err) {
		return errors.Join(backup.ErrUnknown, err)
	}
	if err != nil {
		// What failed may have filled the disk with a log of nothing. It goes when
		// the connection that writes is the last to be closed, so there has to be
		// one again.
		_ = s.change(patient, "connect again", func(*tx) error { return nil })
	}
	return err
}

func (s *Store) restore(ctx, patient context.Context, by petcat.Actor, from *backup.Reader) error {
	return s.change(patient, "restore", func(t *tx) error {
		if err := t.wantEmpty(); err != nil {
			return err
		}
		// The rows come in the order of their ids, and hashes in none: with a
		// cache of 64 MB their index is not written again and again. It ends with
		// the connection.
		if err := t.exec("PRAGMA cache_size = -65536"); err != nil {
			return err
		}
		if err := t.restoreRows(ctx, from); err != nil {
			return err
		}
		h := from.Header()
		t.counters = counters{
			revision: h.Revision, access: h.AccessRevision,
			category: h.LastCategory, account: h.LastAccount, key: h.LastKey,
		}
		return t.record(by, backup.AuditRestore, h.Dataset, h.Detail())
	})
}

// wantEmpty looks whether anything was ever written.
func (t *tx) wantEmpty() error {
	const query = `SELECT EXISTS (SELECT 1 FROM account) OR EXISTS (SELECT 1 FROM api_key) OR EXISTS (SELECT 1 FROM category)
		OR EXISTS (SELECT 1 FROM idempotency) OR EXISTS (SELECT 1 FROM day_count) OR EXISTS (SELECT 1 FROM audit)`
	var data bool
	if err := t.get(query, nil, &data); err != nil {
		return err
	}
	if data || t.counters != (counters{}) {
		return backup.ErrNotEmpty
	}
	return nil
}

func (t *tx) restoreRows(ctx context.Context, from *backup.Reader) error {
	for n := 0; ; n++ {
		if n%cancelCheck == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		k, values, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = t.exec(restoreQuery(k), values...)
		if err != nil && severityOf(err) == statement {
			err = from.Blame(err)
		}
		if err != nil {
			return fmt.Errorf("restore %s: %w", k, err)
		}
	}
}

// Integrity asks SQLite for damage of the file, and returns one sentence for each
// finding.
func (s *Store) Integrity(ctx context.Context) (findings []string, err error) {
	// The whole file is looked at, up to 20 findings.
	const pages, references = `PRAGMA integrity_check(20)`, `PRAGMA foreign_key_check`
	err = each(ctx, s.readers, "check the file", func(scan scanner) error {
		var text string
		if err := scan(&text); err != nil || text == "ok" {
			return err
		}
		findings = append(findings, "the file is damaged: "+text)
		return nil
	}, pages)
	if e, ok := errors.AsType[*OpenError](err); ok && e.Kind == Damaged {
		// Some damage stops the look itself.
		return append(findings, "the file is damaged: "+e.Unwrap().Error()), nil
	}
	if err != nil || len(findings) > 0 {
		return findings, err // a damaged file has nothing true to say of references
	}
	err = each(ctx, s.readers, "check the references", func(scan scanner) error {
		var table, parent string
		var row, number sql.Null[int64]
		err := scan(&table, &row, &parent, &number)
		findings = append(findings, fmt.Sprintf("row %d of the table %s refers to a row of %s that is not there", row.V, table, parent))
		return err
	}, references)
	return findings, err
}
