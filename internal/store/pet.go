package store

import (
	"context"

	"petcat"
)

// CreatePet implements [petcat.PetStore].
func (s *Store) CreatePet(ctx context.Context, c petcat.CreatePet) (petcat.CreatedPet, error) {
	r := request{scopedKey{c.Account, c.IdempotencyKey}, c.New.Fingerprint()}
	id, replayed, err := s.createOnce(ctx, "create pet", r, func(t *Tx) (int64, error) { return t.insertPet(c) })
	if err != nil {
		return petcat.CreatedPet{}, err
	}
	return petcat.CreatedPet{Pet: c.New.As(petcat.PetID(id)), Replayed: replayed}, nil
}

// insertPet inserts a pet if its category exists. A concurrent deletion of the category
// waits for the counter's row, and then finds the pet.
func (t *Tx) insertPet(c petcat.CreatePet) (int64, error) {
	const insert = `INSERT INTO pets (id, name, category_id, account_id, created_at)
		SELECT ?, ?, id, ?, ? FROM categories WHERE id = ? AND deleted_at IS NULL`
	t.sequences.Pet++
	id := int64(t.sequences.Pet)
	n, err := t.Exec(insert, id, c.New.Name(), int64(c.Account), t.now.UnixMilli(), int64(c.New.Category()))
	if err == nil && n == 0 {
		err = c.New.UnknownCategory()
	}
	return id, err
}

const petColumns = `id, name, category_id`

func petInto(p *petcat.Pet) []any { return []any{(*int64)(&p.ID), &p.Name, (*int64)(&p.Category)} }

// FindPet implements [petcat.PetStore].
func (s *Store) FindPet(ctx context.Context, id petcat.PetID) (petcat.Pet, error) {
	const query = `SELECT ` + petColumns + ` FROM pets WHERE id = ?`
	p, found, err := find(ctx, s, "find pet", petInto, query, int64(id))
	if err == nil && !found {
		err = petcat.NoSuchPet()
	}
	return p, err
}

// ListPets implements [petcat.PetStore].
func (s *Store) ListPets(ctx context.Context, q petcat.PetQuery) ([]petcat.Pet, error) {
	const every = `SELECT ` + petColumns + ` FROM pets WHERE id > ? ORDER BY id LIMIT ?`
	const ofCategory = `SELECT ` + petColumns + ` FROM pets WHERE category_id = ? AND id > ? ORDER BY id LIMIT ?`
	if q.Category == 0 {
		return list(ctx, s, "list pets", petInto, every, int64(q.After), q.Limit)
	}
	return list(ctx, s, "list pets", petInto, ofCategory, int64(q.Category), int64(q.After), q.Limit)
}
