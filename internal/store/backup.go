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

// Copy is a SQLite file with a copy of the data: a backup, or one in the making.
type Copy interface {
	// Path is the path of the file. SQLite copies itself to it.
	Path() string
	// Tables returns the tables of the data, parents first. In an empty file it creates
	// them.
	Tables(ctx context.Context) ([]Table, error)
	// Fill replaces the rows of a table: int64, string, bool, []byte or nil for each
	// column. It may keep values until it returns.
	Fill(t Table, rows iter.Seq2[[]any, error]) error
	// Rows returns all rows, by key: int64, string, []byte or nil for each column.
	Rows(t Table) iter.Seq2[[]any, error]
}

// AuditRestore is the action of the audit entry that a restore leaves. Its subject is the
// dataset name of the backup.
const AuditRestore = "data.restore"

// Names of the rows of the table meta that only a backup has.
const (
	MetaTakenAt = "taken_at" // the moment of the copy, RFC 3339
	MetaProgram = "petcat"   // the version that made the backup
)

// Strip makes a copy of the tables a backup: it deletes what a backup must not have, and
// notes when and by which version of petcat it was made.
func Strip(c Conn, takenAt time.Time, program string) error {
	statements := []string{
		`DELETE FROM nodes`,
		`DELETE FROM sessions`,
		`DELETE FROM sign_in_links`,
		// Notes are of the running deployment.
		`DELETE FROM meta WHERE name NOT IN ('environment', 'dataset', 'created_at')`,
	}
	for _, statement := range statements {
		if _, err := c.Exec(statement); err != nil {
			return err
		}
	}
	const note = `INSERT INTO meta (name, value) VALUES (?, ?), (?, ?)`
	_, err := c.Exec(note, MetaTakenAt, takenAt.UTC().Format(time.RFC3339Nano), MetaProgram, program)
	return err
}

// IsEmpty reports whether nothing was ever written to the data. What a server writes by
// itself does not count.
func (t *Tx) IsEmpty() (bool, error) {
	entries, err := one(t, oneColumn[int64], nil, `SELECT count(*) FROM audit`)
	return entries == 0 && t.sequences == (Sequences{}), err
}

// Restored ends a restore, when all rows are there. The data gets a new dataset name:
// otherwise an ETag of the original would match a list of the restored data.
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
	missing := errors.New("the backup does not say what it is: the table meta lacks rows")
	into := func(b *backup) []any { return []any{&b.dataset, &b.takenAt, &b.program, &b.revision} }
	b, err := one(t, into, missing, values, MetaTakenAt, MetaProgram)
	if err != nil {
		return err
	}
	if err := t.exec(rename, rand.Text()); err != nil {
		return err
	}
	if err := t.exec(forget, MetaTakenAt, MetaProgram); err != nil {
		return err
	}
	return t.record(by, AuditRestore, detail{"taken_at": b.takenAt, "petcat": b.program, "revision": b.revision}, b.dataset)
}
