package store

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
)

// Table is a table of a backup.
type Table struct {
	Name    string
	Columns []string
	Key     string // the columns of its primary key, as in ORDER BY
}

// Insert inserts rows of the table. Its statement is built at run time, because the schema of the
// backup has the names of the tables and columns.
func (t Table) Insert(c Conn, rows [][]any) error {
	placeholders := make([]string, len(t.Columns))
	for i := range placeholders {
		placeholders[i] = "$" + strconv.Itoa(i+1)
	}
	insert := `INSERT INTO ` + t.Name + ` (` + strings.Join(t.Columns, ", ") + `)` +
		` VALUES (` + strings.Join(placeholders, ", ") + `)`
	return insertMany(c, insert, rows)
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

const (
	stripNodes      = `DELETE FROM nodes`
	stripSessions   = `DELETE FROM sessions`
	stripLinks      = `DELETE FROM sign_in_links`
	stripDeliveries = `DELETE FROM deliveries`
	// stripWebhooks keeps a secret out of backups, and a restored copy from sending what the original
	// sends.
	stripWebhooks = `
		UPDATE webhooks SET secret = '', old_secret = '', overlap_ends = NULL,
			disabled_at = coalesce(disabled_at, created_at),
			failure = 'it comes from a backup, which contains no secret: rotate the secret, then enable it'`
	// stripMeta deletes the shared texts, which belong to the running deployment, and what was
	// removed for readers of the dataset: a restore makes another one.
	stripMeta  = `DELETE FROM meta WHERE name NOT IN ('environment', 'dataset', 'created_at')`
	insertMeta = `INSERT INTO meta (name, value) VALUES ($1, $2)`
)

// Strip turns a copy of the tables into a backup: it deletes data that backups must not contain,
// and adds the time of the copy and the version of petcat.
func Strip(c Conn, takenAt time.Time, program string) error {
	for _, statement := range []string{stripNodes, stripSessions, stripLinks, stripDeliveries, stripWebhooks, stripMeta} {
		if _, err := c.Exec(statement); err != nil {
			return err
		}
	}
	if err := c.Run(insertMeta, MetaTakenAt, takenAt.UTC().Format(time.RFC3339Nano)); err != nil {
		return err
	}
	return c.Run(insertMeta, MetaProgram, program)
}

const countAuditEntries = `SELECT count(*) FROM audit`

// IsEmpty reports whether the database was never changed, except by a server's own bookkeeping and events,
// such as a failed backup's.
func (t *Tx) IsEmpty() (bool, error) {
	entries, err := queryRow(t, scanNumber, nil, countAuditEntries)
	return entries == 0 && t.sequences == (Sequences{Event: t.sequences.Event}), err
}

// origin describes the backup that a restore copies.
type origin struct {
	dataset  string
	takenAt  string
	program  string
	revision int64
}

func scanOrigin(row Row) (o origin, err error) {
	err = row.Scan(
		&o.dataset,
		&o.takenAt,
		&o.program,
		&o.revision,
	)
	return o, err
}

const (
	selectOrigin = `
		SELECT d.value, t.value, p.value, c.revision FROM meta AS d, meta AS t, meta AS p, counter AS c
		WHERE d.name = 'dataset' AND t.name = $1 AND p.name = $2`

	updateDataset = `UPDATE meta SET value = $1 WHERE name = 'dataset'`
	deleteOrigin  = `DELETE FROM meta WHERE name IN ($1, $2)`
)

// Restored completes a restore after all rows were inserted. It sets a new dataset name:
// otherwise an ETag of the original data could match a list of the restored data.
func (t *Tx) Restored(by petcat.Actor) error {
	missing := errors.New("the table meta of the backup lacks rows that describe the backup")
	o, err := queryRow(t, scanOrigin, missing, selectOrigin, MetaTakenAt, MetaProgram)
	if err != nil {
		return err
	}
	if err := t.Run(updateDataset, rand.Text()); err != nil {
		return err
	}
	if err := t.Run(deleteOrigin, MetaTakenAt, MetaProgram); err != nil {
		return err
	}
	d := detail{"taken_at": o.takenAt, "petcat": o.program, "revision": o.revision}
	return t.log(by, AuditRestore, o.dataset, d)
}
