package postgres

import (
	"context"

	"petcat"
)

// CreateCategory implements [petcat.CategoryStore]. While the database is known to be
// away, nothing waits in the queue.
func (s *Store) CreateCategory(ctx context.Context, c petcat.CreateCategory) (petcat.CreatedCategory, error) {
	if err := s.writer.breaker.tried(); err != nil {
		return petcat.CreatedCategory{}, translate(err, "create category")
	}
	return s.Store.CreateCategory(ctx, c)
}
