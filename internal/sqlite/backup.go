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
	"petcat/internal/openerror"
	"petcat/internal/store"
)

// Backup implements [backup.Source]. While it runs, the write-ahead log can only
// grow.
func (s *Store) Backup(ctx context.Context, to backup.Sink) error {
	reader, end, err := s.snapshot(ctx)
	if err != nil {
		return translate(err, "back up")
	}
	defer end()
	h, err := s.BackupHeader(conn{ctx, reader}, func() {})
	if err != nil {
		return translate(err, "back up")
	}
	return tell(ctx, reader, h, to)
}

// snapshot begins a transaction that sees one moment, whatever others commit
// meanwhile, and returns its connection, and what ends it.
func (s *Store) snapshot(ctx context.Context) (reader *sql.Conn, end func(), err error) {
	reader, err = s.readers.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	if _, err := reader.ExecContext(ctx, "BEGIN"); err != nil {
		return nil, nil, errors.Join(err, reader.Close())
	}
	return reader, func() {
		_, _ = reader.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		_ = reader.Close()
	}, nil
}

// tell gives a sink the header and all rows that a connection sees.
func tell(ctx context.Context, reader *sql.Conn, h backup.Header, to backup.Sink) error {
	if err := to.Begin(h); err != nil {
		return err
	}
	for _, k := range backup.Kinds() {
		stopped, err := backupRows(ctx, reader, k, to)
		if stopped != nil {
			return stopped
		}
		if err != nil {
			return translate(err, "back up "+k.String())
		}
	}
	return nil
}

// backupRows tells the rows of one kind.
func backupRows(ctx context.Context, reader *sql.Conn, k backup.Kind, to backup.Sink) (stopped, err error) {
	columns := k.Columns()
	row, values := make([]driver.Value, len(columns)), make([]any, len(columns))
	return eachRow(ctx, reader, store.SelectRows(k), row, func() (stopped, err error) {
		for i, v := range row {
			values[i] = v
			if flag, ok := v.(int64); ok && columns[i].Type == backup.Boolean {
				values[i] = flag != 0
			}
		}
		return to.Row(k, values), nil
	})
}

// Restore implements [backup.Target]. The store is open for serving: so the
// write-ahead log is empty when it begins.
func (s *Store) Restore(ctx context.Context, by petcat.Actor, from *backup.Reader) error {
	// A caller that goes away stops the restore, and waits until it has stopped.
	patient := context.WithoutCancel(ctx)
	err := s.restore(ctx, patient, by, from)
	if isCommitError(err) {
		return errors.Join(backup.ErrUnknown, err)
	}
	if err != nil {
		// What failed may have filled the disk with a log of nothing. It goes when
		// the connection that writes is the last to be closed, so there has to be
		// one again.
		_ = s.Change(patient, "connect again", func(*store.Tx) error { return nil })
	}
	return err
}

func (s *Store) restore(ctx, patient context.Context, by petcat.Actor, from *backup.Reader) error {
	return s.Change(patient, "restore", func(t *store.Tx) error {
		if err := t.WantEmpty(); err != nil {
			return err
		}
		// The rows come in the order of their ids, and hashes in none: with a
		// cache of 64 MB their index is not written again and again. It ends with
		// the connection.
		if _, err := t.Exec("PRAGMA cache_size = -65536"); err != nil {
			return err
		}
		if err := restoreRows(ctx, t, from); err != nil {
			return err
		}
		return t.Restored(by, from.Header())
	})
}

func restoreRows(ctx context.Context, t *store.Tx, from *backup.Reader) error {
	inserts := make(map[backup.Kind]string)
	for _, k := range backup.Kinds() {
		inserts[k] = store.InsertRow(k)
	}
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
		_, err = t.Exec(inserts[k], values...)
		if err != nil && severityOf(err) == statement {
			err = from.RootCause(err)
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
	err = engine{s}.Each(ctx, "check the file", func(scan store.Scan) error {
		var text string
		if err := scan(&text); err != nil || text == "ok" {
			return err
		}
		findings = append(findings, "the file is damaged: "+text)
		return nil
	}, pages)
	if e, ok := errors.AsType[*openerror.Error](err); ok && e.Kind == openerror.Damaged {
		// Some damage stops the look itself.
		return append(findings, "the file is damaged: "+e.Unwrap().Error()), nil
	}
	if err != nil || len(findings) > 0 {
		return findings, err // a damaged file has nothing true to say of references
	}
	err = engine{s}.Each(ctx, "check the references", func(scan store.Scan) error {
		var table, parent string
		var row, number sql.Null[int64]
		err := scan(&table, &row, &parent, &number)
		findings = append(findings, fmt.Sprintf("row %d of the table %s refers to a row of %s that is not there", row.V, table, parent))
		return err
	}, references)
	return findings, err
}
