package postgres

import (
	"context"

	"petcat"
)

// CreateCategory implements [petcat.CategoryStore]. While the database is known to be
// away, nothing waits in the queue.
func (s *Store) CreateCategory(ctx context.Context, c petcat.CreateCategory) (petcat.CreatedCategory, error) {
	if err := s.writer.circuit.check(); err != nil {
		return petcat.CreatedCategory{}, translate(err, "create category")
	}
	return s.Store.CreateCategory(ctx, c)
}

// UpdateCategory implements [petcat.CategoryStore]; see CreateCategory.
func (s *Store) UpdateCategory(ctx context.Context, u petcat.UpdateCategory) (petcat.Category, error) {
	if err := s.writer.circuit.check(); err != nil {
		return petcat.Category{}, translate(err, "update category")
	}
	return s.Store.UpdateCategory(ctx, u)
}

// DeleteCategory implements [petcat.CategoryStore]; see CreateCategory.
func (s *Store) DeleteCategory(ctx context.Context, d petcat.DeleteCategory) error {
	if err := s.writer.circuit.check(); err != nil {
		return translate(err, "delete category")
	}
	return s.Store.DeleteCategory(ctx, d)
}
