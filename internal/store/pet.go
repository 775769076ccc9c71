package store

import (
	"context"

	"petcat"
)

// CreatePet implements [petcat.PetStore].
func (s *Store) CreatePet(ctx context.Context, c petcat.CreatePet) (petcat.CreatedPet, error) {
	// A concurrent deletion of the category waits for the counter row, and then finds the pet.
	const insert = `INSERT INTO pets (id, name, category_id, account_id, created_at)
		SELECT ?, ?, id, ?, ? FROM categories WHERE id = ? AND deleted_at IS NULL`
	r := request{scopedKey{c.Account, c.IdempotencyKey}, c.New.Fingerprint()}
	e, err := s.createOnce(ctx, "create pet", r, func(t *Tx) (int64, error) {
		t.sequences.Pet++
		inserted, err := t.Exec(insert, t.sequences.Pet, c.New.Name(), int64(c.Account), t.now.UnixMilli(), int64(c.New.Category()))
		if err == nil && inserted == 0 {
			err = petcat.Errorf(petcat.CodeInvalidField, "category_id must be the id of a category, and there is no category %d; it may have been deleted", c.New.Category()).In("category_id")
		}
		return t.sequences.Pet, err
	})
	return petcat.CreatedPet{Pet: c.New.WithID(petcat.PetID(e.id)), Replayed: e.known}, err
}

func petInto(p *petcat.Pet) []any { return []any{(*int64)(&p.ID), &p.Name, (*int64)(&p.Category)} }

// FindPet implements [petcat.PetStore].
func (s *Store) FindPet(ctx context.Context, id petcat.PetID) (petcat.Pet, error) {
	const query = `SELECT id, name, category_id FROM pets WHERE id = ?`
	none := notFound("there is no pet with this id")
	return read(ctx, s, "find pet", func(c Conn) (petcat.Pet, error) { return one(c, petInto, none, query, int64(id)) })
}

// ListPets implements [petcat.PetStore].
func (s *Store) ListPets(ctx context.Context, q petcat.PetQuery) ([]petcat.Pet, error) {
	var c conditions
	c.when(true, `id > ?`, int64(q.After))
	c.when(q.Category != 0, `category_id = ?`, int64(q.Category))
	query, args := c.page(`SELECT id, name, category_id FROM pets`, `id`, q.Limit)
	return list(ctx, s, "list pets", petInto, query, args...)
}

// CreateOrder implements [petcat.OrderStore].
func (s *Store) CreateOrder(ctx context.Context, c petcat.CreateOrder) (petcat.CreatedOrder, error) {
	const insert = `INSERT INTO orders (id, account_id, pet_id, quantity, created_at)
		SELECT ?, ?, id, ?, ? FROM pets WHERE id = ?`
	r := request{scopedKey{c.Account, c.IdempotencyKey}, c.New.Fingerprint()}
	e, err := s.createOnce(ctx, "create order", r, func(t *Tx) (int64, error) {
		t.sequences.Order++
		inserted, err := t.Exec(insert, t.sequences.Order, int64(c.Account), c.New.Quantity(), t.now.UnixMilli(), int64(c.New.Pet()))
		if err == nil && inserted == 0 {
			err = petcat.Errorf(petcat.CodeInvalidField, "pet_id must be the id of a pet, and there is no pet %d", c.New.Pet()).In("pet_id")
		}
		return t.sequences.Order, err
	})
	return petcat.CreatedOrder{Order: c.New.WithID(petcat.OrderID(e.id)), Replayed: e.known}, err
}

func orderInto(o *petcat.Order) []any { return []any{(*int64)(&o.ID), (*int64)(&o.Pet), &o.Quantity} }

// ListOrders implements [petcat.OrderStore].
func (s *Store) ListOrders(ctx context.Context, q petcat.OrderQuery) ([]petcat.Order, error) {
	const query = `SELECT id, pet_id, quantity FROM orders WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`
	return list(ctx, s, "list orders", orderInto, query, int64(q.Account), int64(q.After), q.Limit)
}
