package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// cancelCheck is after how many rows a stream checks whether its caller is still
// there: often enough, and too rarely to cost anything.
const cancelCheck = 1024

// withRaw calls fn with the driver's connection, past database/sql. fn returns in stopped
// what the caller is to get as it is, and in err what the database returned.
func withRaw[T any](conn *sql.Conn, fn func(raw T) (stopped, err error)) (stopped, err error) {
	err = conn.Raw(func(raw any) error {
		expected, ok := raw.(T)
		if !ok {
			return fmt.Errorf("the driver's connection is a %T, which cannot do what is needed", raw)
		}
		var err error
		stopped, err = fn(expected)
		return err
	})
	return stopped, err
}

// eachRow reads the rows of a query into row, one after the other, and calls fn after each.
// It reads past database/sql, which would cost twice as much as reading. Its errors, and
// fn's, are those of withRaw. A context that ends stops it.
func eachRow(ctx context.Context, conn *sql.Conn, query string, row []driver.Value, fn func() (stopped, err error)) (stopped, err error) {
	return withRaw(conn, func(raw driver.QueryerContext) (stopped, err error) {
		rows, err := raw.QueryContext(context.WithoutCancel(ctx), query, nil) // a context that can end costs a goroutine
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
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
			if stopped, err = fn(); stopped != nil || err != nil {
				return stopped, err
			}
		}
	})
}
