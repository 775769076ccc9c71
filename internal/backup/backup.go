// Package backup creates, verifies and schedules backups. A backup of either database is a SQLite
// file with the tables of the deployment and one more table:
//
//	checksum(table_name, rows, sha256)
//
// The table checksum is written last, so a file without it is not a finished backup. It has a row
// for each other table, with the SHA-256 of its rows by primary key. The text of a row is the
// output of SQLite's quote() for each column, separated by commas and terminated by a line feed.
package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

// Source is a store that can be backed up.
type Source interface {
	// Backup copies all tables into an empty file, in one snapshot, during concurrent
	// writes.
	Backup(ctx context.Context, to store.Copy) error
}

// Info describes a backup.
type Info struct {
	Program     string             `json:"petcat"` // version of petcat
	TakenAt     time.Time          `json:"taken_at"`
	Environment petcat.Environment `json:"environment"`
	Dataset     string             `json:"dataset"`  // name
	Revision    int64              `json:"revision"` // the last revision
	Rows        map[string]int64   `json:"rows"`     // of each table
	Size        int64              `json:"size"`     // in bytes
}

// Create creates a backup in an empty file. The caller must sync the file. After an error, the
// file is unusable.
func Create(ctx context.Context, path string, from Source, program string, now time.Time) (i Info, err error) {
	f := &File{path: path}
	err = from.Backup(ctx, f)
	if err == nil {
		err = f.finish(ctx, program, now)
	}
	if err == nil {
		i, err = f.info()
	}
	return i, sqlite.WithCause(errors.Join(err, f.Close()), path)
}

// Convert makes a backup of an unused database file, in an empty file. If the database is damaged, it
// returns one sentence per fault instead.
func Convert(ctx context.Context, path, database, program string, now time.Time) (findings []string, err error) {
	from, err := sqlite.ReadDatabase(ctx, database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	if findings, err = from.Integrity(); err != nil || len(findings) > 0 {
		return findings, err
	}
	_, err = Create(ctx, path, from, program, now)
	return nil, err
}

// Verify reads all of a backup. It returns one sentence for each fault, and the zero Info if the
// file is damaged. It returns a [petcat.UnusableError] if the file is not a finished backup of
// petcat.
func Verify(ctx context.Context, path string) (i Info, findings []string, err error) {
	f, err := Open(ctx, path)
	if err != nil {
		return i, nil, err
	}
	defer func() { _ = f.Close() }()
	if findings, err = f.file.Integrity(); err != nil || len(findings) > 0 {
		return i, findings, err // reading a damaged file may take forever
	}
	i, err = f.info()
	if err == nil {
		findings, err = f.compare(ctx)
	}
	var check petcat.AuditCheck
	if err == nil {
		err = store.CheckAudit(f.file, &check)
		if fault := check.Fault(); fault != "" {
			findings = append(findings, fault)
		}
	}
	if err != nil && ctx.Err() == nil { // the file is not in use, so it is damaged
		return i, append(findings, "some rows cannot be read: "+err.Error()), nil
	}
	return i, findings, err
}

// File is a finished or unfinished backup. It implements [store.Copy], for one goroutine.
type File struct {
	path string
	file *sqlite.File // nil until it is opened
}

// Open opens a backup for reading. It returns a [petcat.UnusableError] if the file is not a finished
// backup of petcat.
func Open(ctx context.Context, path string) (*File, error) {
	file, err := sqlite.ReadBackup(ctx, path)
	return &File{path, file}, err
}

// Close closes the file without a commit.
func (f *File) Close() error { return f.file.Close() }

// Path implements [store.Copy].
func (f *File) Path() string { return f.path }

// Tables implements [store.Copy]. It returns all tables except checksum, in the order of their
// creation. If the file is not open, Tables opens it for writing, in one transaction.
func (f *File) Tables(ctx context.Context) (tables []store.Table, err error) {
	if f.file == nil {
		if f.file, err = sqlite.EditFile(ctx, f.path); err != nil {
			return nil, err
		}
		if _, err := f.file.Exec("BEGIN"); err != nil {
			return nil, err
		}
	}
	const query = `
		SELECT t.name,
			group_concat(c.name, ', ' ORDER BY c.cid),
			coalesce(group_concat(c.name, ', ' ORDER BY c.pk) FILTER (WHERE c.pk > 0), '1')
		FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name <> 'checksum' GROUP BY t.rowid ORDER BY t.rowid`
	err = f.file.Query(func(scan store.Scan) error {
		var t store.Table
		var columns string
		err := scan(&t.Name, &columns, &t.Key)
		t.Columns = strings.Split(columns, ", ")
		tables = append(tables, t)
		return cmp.Or(err, checkNames(append(t.Columns, t.Name)))
	}, query)
	return tables, err
}

// plainName matches the names of all tables and columns of petcat.
var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// checkNames returns an error for names of tables or columns that petcat never uses: statements are built
// from the names in a backup, which may be a forged file.
func checkNames(names []string) error {
	for _, name := range names {
		if !plainName.MatchString(name) {
			return petcat.Unusablef(nil, "this is no backup of petcat: it has a table or a column with the name %.100q", name)
		}
	}
	return nil
}

// Fill implements [store.Copy].
func (f *File) Fill(t store.Table, rows iter.Seq2[[]any, error]) error {
	if _, err := f.file.Exec(`DELETE FROM ` + t.Name); err != nil { // rows of the migrations
		return err
	}
	var some [][]any
	for row, err := range rows {
		if err != nil {
			return err
		}
		if some = append(some, row); len(some) == store.RowsInStatement {
			if err := t.Insert(f.file, some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	return t.Insert(f.file, some)
}

// Rows implements [store.Copy].
func (f *File) Rows(t store.Table) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		row, into := make([]any, len(t.Columns)), make([]any, len(t.Columns))
		for i := range row {
			into[i] = &row[i]
		}
		stopped := errors.New("stopped")
		err := f.file.Query(func(scan store.Scan) error {
			err := scan(into...)
			if err == nil && !yield(row, nil) {
				return stopped
			}
			return err
		}, `SELECT `+strings.Join(t.Columns, ", ")+` FROM `+t.Name+` ORDER BY `+t.Key)
		if err != nil && !errors.Is(err, stopped) {
			yield(nil, err)
		}
	}
}

const insertChecksum = `INSERT INTO checksum (table_name, rows, sha256) VALUES ($1, $2, $3)`

// finish completes a backup after the tables were copied.
func (f *File) finish(ctx context.Context, program string, now time.Time) error {
	if _, err := f.Tables(ctx); err != nil { // opens a copy made by SQLite
		return err
	}
	if err := store.Strip(f.file, now, program); err != nil {
		return err
	}
	sums, err := f.computed(ctx)
	if err != nil {
		return err
	}
	const createTable = `
		CREATE TABLE checksum (
			table_name TEXT PRIMARY KEY,
			rows       INTEGER NOT NULL,
			sha256     TEXT NOT NULL
		) STRICT`
	if _, err := f.file.Exec(createTable); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(sums)) {
		if err := f.file.Run(insertChecksum, table, sums[table].rows, sums[table].sha256); err != nil {
			return err
		}
	}
	_, err = f.file.Exec("COMMIT")
	return err
}

// schemaTable is a table with the schema, without data.
const schemaTable = "sqlite_schema"

// sum is a row of the table checksum.
type sum struct {
	rows   int64
	sha256 string
}

// computed computes the sums of all tables and of the schema, by table.
func (f *File) computed(ctx context.Context) (map[string]sum, error) {
	tables, err := f.Tables(ctx)
	if err != nil {
		return nil, err
	}
	schema := store.Table{
		Name:    schemaTable + " WHERE tbl_name <> 'checksum'",
		Columns: []string{"type", "name", "tbl_name", "sql"},
		Key:     "name",
	}
	sums := make(map[string]sum)
	for _, t := range append(tables, schema) {
		name, _, _ := strings.Cut(t.Name, " ")
		if sums[name], err = f.sumOf(t); err != nil {
			return nil, fmt.Errorf("read the table %s: %w", name, err)
		}
	}
	return sums, nil
}

func (f *File) sumOf(t store.Table) (s sum, err error) {
	hash := sha256.New()
	var row sql.RawBytes
	err = f.file.Query(func(scan store.Scan) error {
		s.rows++
		err := scan(&row)
		_, _ = hash.Write(row)
		_, _ = hash.Write([]byte{'\n'})
		return err
	}, `SELECT quote(`+strings.Join(t.Columns, `) || ',' || quote(`)+`) FROM `+t.Name+` ORDER BY `+t.Key)
	s.sha256 = hex.EncodeToString(hash.Sum(nil))
	return s, err
}

// written returns the rows of the table checksum, by table.
func (f *File) written() (map[string]sum, error) {
	sums := make(map[string]sum)
	err := f.file.Query(func(scan store.Scan) error {
		var table string
		var s sum
		err := scan(&table, &s.rows, &s.sha256)
		sums[table] = s
		return err
	}, `SELECT table_name, rows, sha256 FROM checksum`)
	return sums, err
}

// compare compares the tables with the table checksum.
func (f *File) compare(ctx context.Context) (findings []string, err error) {
	written, err := f.written()
	if err != nil {
		return nil, err
	}
	computed, err := f.computed(ctx)
	if err != nil {
		return nil, err
	}
	both := maps.Clone(computed)
	maps.Copy(both, written)
	for _, table := range slices.Sorted(maps.Keys(both)) {
		if now, was := computed[table], written[table]; now != was {
			findings = append(findings, fmt.Sprintf(
				"%s: the rows have changed since the backup (%d now, %d then)", table, now.rows, was.rows))
		}
	}
	return findings, nil
}

// info returns the description of a backup.
func (f *File) info() (Info, error) {
	const query = `SELECT e.value, d.value, t.value, p.value, c.revision, page_count * page_size
		FROM meta AS e, meta AS d, meta AS t, meta AS p, counter AS c, pragma_page_count, pragma_page_size
		WHERE e.name = 'environment' AND d.name = 'dataset' AND t.name = $1 AND p.name = $2`
	i := Info{Rows: make(map[string]int64)}
	var takenAt string
	into := []any{(*string)(&i.Environment), &i.Dataset, &takenAt, &i.Program, &i.Revision, &i.Size}
	row := func(scan store.Scan) error { return scan(into...) }
	if err := f.file.Query(row, query, store.MetaTakenAt, store.MetaProgram); err != nil {
		return i, err
	}
	sums, err := f.written()
	for table, s := range sums {
		i.Rows[table] = s.rows
	}
	delete(i.Rows, schemaTable)
	if err == nil {
		i.TakenAt, err = time.Parse(time.RFC3339, takenAt)
	}
	return i, err
}
