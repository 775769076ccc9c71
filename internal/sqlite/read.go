package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// scanner reads the columns of one row.
type scanner func(into ...any) error

// stopped carries an error of a caller's function past the translation of the
// database's errors.
type stopped struct{ error }

func stop(err error) error {
	if err == nil {
		return nil
	}
	return &stopped{err}
}

// source is what can be queried: the readers, or a transaction of one of them.
type source interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls row for every row of a query, and stops at its first error.
func each(ctx context.Context, from source, doing string, row func(scanner) error, query string, args ...any) error {
	err := eachRow(ctx, from, row, query, args...)
	if s, ok := errors.AsType[*stopped](err); ok {
		return s.error
	}
	return translate(err, doing)
}

func eachRow(ctx context.Context, from source, row func(scanner) error, query string, args ...any) (err error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
