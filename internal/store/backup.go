package store

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"strings"
	"time"

	"petcat"
)

// Table is a table of a backup.
type Table struct {
	Name    string
	Columns []string
	Key     string // the columns of its primary key, as in ORDER BY
}

// Insert inserts rows of the table.
func (t Table) Insert(c Conn, rows [][]any) error {
	return execRows(c, RowsInStatement, insertInto(t.Name, strings.Join(t.Columns, ", ")), ``, rows)
}

// Copy is a SQLite file with a copy of the data: a finished or unfinished backup.
type Copy interface {
	// Path returns the path of the file. SQLite copies the database to it.
	Path() string
	// Tables returns the tables, parents first. It creates them if the file is empty.
	Tables(ctx context.Context) ([]Table, error)
	// Fill replaces the rows of a table: int64, string, bool, []byte or nil for each
	// column. It may keep values until it returns.
	Fill(t Table, rows iter.Seq2[[]any, error]) error
	// Rows returns all rows, by key: int64, string, []byte or nil for each column.
	Rows(t Table) iter.Seq2[[]any, error]
}

// AuditRestore is the action of the audit entry of a restore. The subject is the dataset name of
// the backup.
const AuditRestore = "data.restore"

// Names of rows of the table meta that only backups have.
const (
	MetaTakenAt = "taken_at" // the time of the copy, RFC 3339
	MetaProgram = "petcat"   // the version that made the backup
)

// Strip turns a copy of the tables into a backup: it deletes data that backups must not contain,
// and adds the time of the copy and the version of petcat.
func Strip(c Conn, takenAt time.Time, program string) error {
	for _, statement := range []string{
		`DELETE FROM nodes`,
		`DELETE FROM sessions`,
		`DELETE FROM sign_in_links`,
		// Notes belong to the running deployment.
		`DELETE FROM meta WHERE name NOT IN ('environment', 'dataset', 'created_at')`,
	} {
		if _, err := c.Exec(statement); err != nil {
			return err
		}
	}
	const note = `INSERT INTO meta (name, value) VALUES (?, ?), (?, ?)`
	_, err := c.Exec(note, MetaTakenAt, takenAt.UTC().Format(time.RFC3339Nano), MetaProgram, program)
	return err
}

// IsEmpty reports whether the database was never changed, except by a server's own bookkeeping.
func (t *Tx) IsEmpty() (bool, error) {
	entries, err := one(t, oneColumn[int64], nil, `SELECT count(*) FROM audit`)
	return entries == 0 && t.sequences == (Sequences{}), err
}

// Restored completes a restore after all rows were inserted. It sets a new dataset name:
// otherwise an ETag of the original data could match a list of the restored data.
func (t *Tx) Restored(by petcat.Actor) error {
	const (
		values = `SELECT d.value, t.value, p.value, c.revision FROM meta AS d, meta AS t, meta AS p, counter AS c
			WHERE d.name = 'dataset' AND t.name = ? AND p.name = ?`
		rename = `UPDATE meta SET value = ? WHERE name = 'dataset'`
		forget = `DELETE FROM meta WHERE name IN (?, ?)`
	)
	type backup struct {
		dataset, takenAt, program string
		revision                  int64
	}
	missing := errors.New("the table meta of the backup lacks rows that describe the backup")
	into := func(b *backup) []any { return []any{&b.dataset, &b.takenAt, &b.program, &b.revision} }
	b, err := one(t, into, missing, values, MetaTakenAt, MetaProgram)
	if err != nil {
		return err
	}
	if err := t.exec(rename, rand.Text()); err != nil {
		return err
	}
	e := entry{by, AuditRestore, b.dataset, detail{"taken_at": b.takenAt, "petcat": b.program, "revision": b.revision}}
	return t.write(e, forget, MetaTakenAt, MetaProgram)
}
