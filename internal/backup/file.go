package backup

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strings"

	"petcat/internal/sqlite"
	"petcat/internal/store"
)

// File is a backup, or the beginning of one. It implements [store.Copy] for one goroutine.
type File struct {
	path    string
	db      *sql.DB
	conn    *sql.Conn            // nil: nothing was read or written yet
	inserts map[string]*sql.Stmt // by table
}

// Open opens a backup for reading. It returns an [openerror.Error] if it is not of petcat.
func Open(ctx context.Context, path string) (*File, error) {
	db, err := sqlite.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, db: db}
	if f.conn, err = db.Conn(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return f, nil
}

// edit opens the file for writing, in one transaction. An empty file gets the schema.
func (f *File) edit(ctx context.Context) (err error) {
	if f.conn != nil {
		return nil
	}
	if f.db, err = sqlite.EditFile(ctx, f.path); err != nil {
		return err
	}
	f.inserts = make(map[string]*sql.Stmt)
	if f.conn, err = f.db.Conn(ctx); err != nil {
		return err
	}
	return f.exec(ctx, "BEGIN")
}

// Close closes the file. What was not committed is lost.
func (f *File) Close() error {
	if f.conn == nil {
		return nil
	}
	return errors.Join(f.conn.Close(), f.db.Close())
}

func (f *File) exec(ctx context.Context, query string, args ...any) error {
	_, err := f.conn.ExecContext(ctx, query, args...)
	return sqlite.FullDisk(err)
}

// each calls fn for each row of a query.
func (f *File) each(ctx context.Context, fn func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := f.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Path implements [store.Copy].
func (f *File) Path() string { return f.path }

// Tables implements [store.Copy].
func (f *File) Tables(ctx context.Context) (data []store.Table, err error) {
	if err := f.edit(ctx); err != nil {
		return nil, err
	}
	tables, err := f.tables(ctx)
	for _, t := range tables {
		if isData(t.Name) {
			data = append(data, t)
		}
	}
	return data, err
}

// isData reports whether a table has rows of petcat, and not of the migrations or of SQLite.
func isData(table string) bool {
	return table != "goose_db_version" && !strings.HasPrefix(table, "sqlite_")
}

// tables returns all tables but checksum, in the order in which they were created.
func (f *File) tables(ctx context.Context) (tables []store.Table, err error) {
	const query = `SELECT t.name, c.name, c.pk FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name <> 'checksum' ORDER BY t.rowid, c.cid`
	keys := make(map[string]map[int]string) // by table, by the place in the primary key
	err = f.each(ctx, func(rows *sql.Rows) error {
		var table, column string
		var place int
		if err := rows.Scan(&table, &column, &place); err != nil {
			return err
		}
		if keys[table] == nil {
			keys[table] = make(map[int]string)
			tables = append(tables, store.Table{Name: table})
		}
		if place > 0 {
			keys[table][place] = column
		}
		t := &tables[len(tables)-1]
		t.Columns = append(t.Columns, column)
		return nil
	}, query)
	for i := range tables {
		key := keys[tables[i].Name]
		for place := 1; place <= len(key); place++ {
			tables[i].Key = append(tables[i].Key, key[place])
		}
		if len(key) == 0 {
			tables[i].Key = tables[i].Columns
		}
	}
	return tables, err
}

// Insert implements [store.Copy].
func (f *File) Insert(ctx context.Context, t store.Table, row []any) error {
	insert := f.inserts[t.Name]
	if insert == nil {
		var err error
		query := `INSERT INTO ` + t.Name + ` (` + strings.Join(t.Columns, ", ") + `) VALUES (?` + strings.Repeat(", ?", len(t.Columns)-1) + `)`
		if insert, err = f.conn.PrepareContext(ctx, query); err != nil {
			return err
		}
		f.inserts[t.Name] = insert
		if err := f.exec(ctx, `DELETE FROM `+t.Name); err != nil { // what the migrations wrote
			return err
		}
	}
	_, err := insert.ExecContext(ctx, row...)
	return sqlite.FullDisk(err)
}

// Rows implements [store.Copy].
func (f *File) Rows(ctx context.Context, t store.Table) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		row, into := make([]any, len(t.Columns)), make([]any, len(t.Columns))
		for i := range row {
			into[i] = &row[i]
		}
		stopped := errors.New("stopped")
		query := `SELECT ` + strings.Join(t.Columns, ", ") + ` FROM ` + t.Name + ` ORDER BY ` + strings.Join(t.Key, ", ")
		err := f.each(ctx, func(rows *sql.Rows) error {
			if err := rows.Scan(into...); err != nil {
				return err
			}
			if !yield(row, nil) {
				return stopped
			}
			return nil
		}, query)
		if err != nil && !errors.Is(err, stopped) {
			yield(nil, err)
		}
	}
}
