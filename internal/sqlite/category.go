package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"petcat"
	"petcat/internal/openerror"
	"petcat/internal/store"
)

// cancelCheck is after how many rows a stream checks whether its caller is still
// there: often enough, and too rarely to cost anything.
const cancelCheck = 1024

// EachCategory implements [petcat.CategoryStore]. It takes the place of package
// store's, because it reads past database/sql, which would cost twice as much as
// reading: a million rows are read at the start, while callers wait.
func (s *Store) EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error {
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return translate(err, "read categories")
	}
	defer func() { _ = conn.Close() }()
	var stopped error // by fn
	err = conn.Raw(func(raw any) error {
		var err error
		stopped, err = eachCategory(ctx, raw, fn)
		return err
	})
	if stopped != nil {
		return stopped
	}
	return translate(err, "read categories")
}

func eachCategory(ctx context.Context, raw any, fn func(petcat.RevisedCategory) error) (stopped, err error) {
	queryer, ok := raw.(driver.QueryerContext)
	if !ok {
		return nil, fmt.Errorf("the driver's connection is a %T and cannot be queried", raw)
	}
	rows, err := queryer.QueryContext(context.WithoutCancel(ctx), store.SelectCategories, nil) // a context that can end costs a goroutine
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var row [5]driver.Value
	for n := 0; ; n++ {
		if n%cancelCheck == 0 && ctx.Err() != nil {
			return context.Cause(ctx), nil
		}
		switch err := rows.Next(row[:]); {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		}
		category, err := categoryOf(row)
		if err != nil {
			return nil, err
		}
		if err := fn(category); err != nil {
			return err, nil
		}
	}
}

// categoryOf reads a row. The types are those of a STRICT table: anything else
// is damage.
func categoryOf(row [5]driver.Value) (petcat.RevisedCategory, error) {
	id, ok1 := row[0].(int64)
	name, ok2 := row[1].(string)
	revision, ok3 := row[3].(int64)
	c := petcat.RevisedCategory{
		Category: petcat.Category{ID: petcat.CategoryID(id), Name: name},
		Revision: petcat.Revision(revision),
	}
	ok4 := row[2] == nil
	if text, ok := row[2].(string); ok {
		c.Description, ok4 = &text, true
	}
	deleted, ok5 := row[4].(int64)
	c.Deleted = deleted != 0
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return c, openerror.Errorf(openerror.Damaged, nil, "a category in the database has values of the wrong type; stop petcat and restore a backup")
	}
	return c, nil
}
