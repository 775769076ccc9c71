// Package backup makes, checks and schedules backups. A backup is a SQLite file with the
// tables of a deployment, whichever database the deployment is on, and one table more:
//
//	checksum(table_name, rows, sha256)
//
// It is written last, so a file without it is no finished backup. It has a row for each other
// table: the SHA-256 of all of its rows, by primary key, each as SQLite's quote() writes its
// columns, with commas between them and a line feed at the end.
package backup

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"petcat"
	"petcat/internal/store"
)

// Source is a store that can be backed up.
type Source interface {
	// Backup copies all tables into an empty file, as of one moment, while others go on
	// writing.
	Backup(ctx context.Context, to store.Copy) error
}

// Info describes a backup.
type Info struct {
	Program     string             `json:"petcat"` // the version that made it
	TakenAt     time.Time          `json:"taken_at"`
	Environment petcat.Environment `json:"environment"`
	Dataset     string             `json:"dataset"`  // the dataset name of the data that was copied
	Revision    int64              `json:"revision"` // the last one
	Rows        map[string]int64   `json:"rows"`     // of each table
	Size        int64              `json:"size"`     // in bytes
}

// Create makes a backup in an empty file. After an error the file is worth nothing. Syncing
// it is up to the caller.
func Create(ctx context.Context, path string, from Source, program string, now time.Time) (Info, error) {
	f := &File{path: path}
	err := from.Backup(ctx, f)
	if err == nil {
		err = f.finish(ctx, program, now)
	}
	var i Info
	if err == nil {
		i, err = f.info(ctx)
	}
	return i, errors.Join(err, f.Close())
}

// finish writes what a backup has beside the copied tables.
func (f *File) finish(ctx context.Context, program string, now time.Time) error {
	tables, err := f.Tables(ctx)
	if err != nil {
		return err
	}
	exec := func(query string, args ...any) error { return f.exec(ctx, query, args...) }
	if err := store.Strip(exec, tables, now, program); err != nil {
		return err
	}
	// When the schema was made says nothing about the data.
	if err := exec(`UPDATE goose_db_version SET tstamp = '1970-01-01 00:00:00'`); err != nil {
		return err
	}
	sums, err := f.computed(ctx)
	if err != nil {
		return err
	}
	if err := exec(`CREATE TABLE checksum (table_name TEXT PRIMARY KEY, rows INTEGER NOT NULL, sha256 TEXT NOT NULL) STRICT`); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(sums)) {
		s := sums[table]
		if err := exec(`INSERT INTO checksum (table_name, rows, sha256) VALUES (?, ?, ?)`, table, s.rows, s.sha256); err != nil {
			return err
		}
	}
	return exec("COMMIT")
}

// sum is what the table checksum says of a table.
type sum struct {
	rows   int64
	sha256 string
}

// schemaTable is the name under which the table checksum has the schema.
const schemaTable = "sqlite_schema"

// computed returns the sums of all tables and of the schema, by table.
func (f *File) computed(ctx context.Context) (map[string]sum, error) {
	tables, err := f.tables(ctx)
	if err != nil {
		return nil, err
	}
	tables = append(tables, store.Table{Name: schemaTable, Key: []string{"name"}, Columns: []string{"type", "name", "tbl_name", "sql"}})
	sums := make(map[string]sum)
	for _, t := range tables {
		if sums[t.Name], err = f.sumOf(ctx, t); err != nil {
			return nil, fmt.Errorf("read the table %s: %w", t.Name, err)
		}
	}
	return sums, nil
}

func (f *File) sumOf(ctx context.Context, t store.Table) (s sum, err error) {
	query := `SELECT quote(` + strings.Join(t.Columns, `) || ',' || quote(`) + `) FROM ` + t.Name
	if t.Name == schemaTable {
		query += ` WHERE tbl_name <> 'checksum'`
	}
	hash := sha256.New()
	var row sql.RawBytes
	err = f.each(ctx, func(rows *sql.Rows) error {
		if err := rows.Scan(&row); err != nil {
			return err
		}
		s.rows++
		_, _ = hash.Write(row)
		_, _ = hash.Write([]byte{'\n'})
		return nil
	}, query+` ORDER BY `+strings.Join(t.Key, ", "))
	s.sha256 = hex.EncodeToString(hash.Sum(nil))
	return s, err
}

// written returns the rows of the table checksum, by table.
func (f *File) written(ctx context.Context) (map[string]sum, error) {
	sums := make(map[string]sum)
	err := f.each(ctx, func(rows *sql.Rows) error {
		var table string
		var s sum
		err := rows.Scan(&table, &s.rows, &s.sha256)
		sums[table] = s
		return err
	}, `SELECT table_name, rows, sha256 FROM checksum`)
	return sums, err
}

// info reads what a backup says about itself.
func (f *File) info(ctx context.Context) (Info, error) {
	const query = `SELECT e.value, d.value, t.value, p.value, c.revision
		FROM meta AS e, meta AS d, meta AS t, meta AS p, counter AS c
		WHERE e.name = 'environment' AND d.name = 'dataset' AND t.name = ? AND p.name = ?`
	i := Info{Rows: make(map[string]int64)}
	var takenAt string
	into := []any{(*string)(&i.Environment), &i.Dataset, &takenAt, &i.Program, &i.Revision}
	if err := f.conn.QueryRowContext(ctx, query, store.MetaTakenAt, store.MetaProgram).Scan(into...); err != nil {
		return i, err
	}
	sums, err := f.written(ctx)
	for table, s := range sums {
		if isData(table) && table != "meta" && table != "counter" {
			i.Rows[table] = s.rows
		}
	}
	if err == nil {
		i.TakenAt, err = time.Parse(time.RFC3339, takenAt)
	}
	if err != nil {
		return i, err
	}
	file, err := os.Stat(f.path)
	if err != nil {
		return i, err
	}
	i.Size = file.Size()
	return i, nil
}
