package store

import (
	"context"

	"petcat"
)

// CreateOrder implements [petcat.OrderStore].
func (s *Store) CreateOrder(ctx context.Context, c petcat.CreateOrder) (petcat.CreatedOrder, error) {
	r := request{scopedKey{c.Account, c.IdempotencyKey}, c.New.Fingerprint()}
	id, replayed, err := s.createOnce(ctx, "create order", r, func(t *Tx) (int64, error) { return t.insertOrder(c) })
	if err != nil {
		return petcat.CreatedOrder{}, err
	}
	return petcat.CreatedOrder{Order: c.New.As(petcat.OrderID(id)), Replayed: replayed}, nil
}

// insertOrder inserts an order if its pet exists.
func (t *Tx) insertOrder(c petcat.CreateOrder) (int64, error) {
	const insert = `INSERT INTO orders (id, account_id, pet_id, quantity, created_at)
		SELECT ?, ?, id, ?, ? FROM pets WHERE id = ?`
	t.sequences.Order++
	id := int64(t.sequences.Order)
	n, err := t.Exec(insert, id, int64(c.Account), c.New.Quantity(), t.now.UnixMilli(), int64(c.New.Pet()))
	if err == nil && n == 0 {
		err = c.New.UnknownPet()
	}
	return id, err
}

func orderInto(o *petcat.Order) []any { return []any{(*int64)(&o.ID), (*int64)(&o.Pet), &o.Quantity} }

// ListOrders implements [petcat.OrderStore].
func (s *Store) ListOrders(ctx context.Context, q petcat.OrderQuery) ([]petcat.Order, error) {
	const query = `SELECT id, pet_id, quantity FROM orders WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`
	return list(ctx, s, "list orders", orderInto, query, int64(q.Account), int64(q.After), q.Limit)
}
