package sqlite

import (
	"context"
	"database/sql/driver"

	"petcat"
	"petcat/internal/openerror"
	"petcat/internal/store"
)

// EachCategory implements [petcat.CategoryStore]. It takes the place of package
// store's, because a million rows are read at the start, while callers wait.
func (s *Store) EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error {
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return translate(err, "read categories")
	}
	defer func() { _ = conn.Close() }()
	row := make([]driver.Value, 5)
	stopped, err := eachRow(ctx, conn, store.SelectCategories, row, func() (stopped, err error) {
		category, err := categoryOf([5]driver.Value(row))
		if err != nil {
			return nil, err
		}
		return fn(category), nil
	})
	if stopped != nil {
		return stopped
	}
	return translate(err, "read categories")
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
