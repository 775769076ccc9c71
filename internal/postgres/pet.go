package postgres

import (
	"context"

	"petcat"
)

// CreatePet implements [petcat.PetStore]; see CreateCategory.
func (s *Store) CreatePet(ctx context.Context, c petcat.CreatePet) (petcat.CreatedPet, error) {
	if err := s.writer.circuit.check(); err != nil {
		return petcat.CreatedPet{}, translate(err, "create pet")
	}
	return s.Store.CreatePet(ctx, c)
}

// CreateOrder implements [petcat.OrderStore]; see CreateCategory.
func (s *Store) CreateOrder(ctx context.Context, c petcat.CreateOrder) (petcat.CreatedOrder, error) {
	if err := s.writer.circuit.check(); err != nil {
		return petcat.CreatedOrder{}, translate(err, "create order")
	}
	return s.Store.CreateOrder(ctx, c)
}
