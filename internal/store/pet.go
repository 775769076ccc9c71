package store

import (
	"context"
	"strconv"

	"github.com/petcat-api/petcat"
)

// CreatePet implements [petcat.PetStore].
func (s *Store) CreatePet(ctx context.Context, c petcat.CreatePet) (petcat.CreatedPet, error) {
	rejected, err := s.checkRows(ctx, c.Account, c.Limit, "pets", selectLastPet)
	if err != nil {
		return petcat.CreatedPet{}, err
	}
	created := &Create{
		Account:  c.Account,
		Key:      c.IdempotencyKey,
		New:      c.New,
		Rejected: rejected,
	}
	if err := s.create(ctx, created); err != nil {
		return petcat.CreatedPet{}, err
	}
	return petcat.CreatedPet{
		Pet:      c.New.WithID(petcat.PetID(created.ID)),
		Replayed: created.Replayed,
	}, nil
}

const insertPet = `
	INSERT INTO pets (id, name, category_id, account_id, created_at)
	VALUES ($1, $2, $3, $4, $5)`

// newPet assigns an id to a create, and returns the arguments of insertPet.
func (t *Tx) newPet(c *Create, n petcat.NewPet) []any {
	t.sequences.Pet++
	c.ID = t.sequences.Pet
	return []any{
		c.ID,
		n.Name(),
		n.Category(),
		c.Account,
		t.now.UnixMilli(),
	}
}

const selectLiveCategory = `SELECT id FROM categories WHERE id = $1 AND deleted_at IS NULL`

func noCategory(id petcat.CategoryID) error {
	return invalid(
		"category_id must be the id of a category, and there is no category %d; it may have been deleted", id,
	).In("category_id")
}

func scanPet(row Row) (p petcat.Pet, err error) {
	err = row.Scan(
		&p.ID,
		&p.Name,
		&p.Category,
	)
	return p, err
}

const selectPet = `SELECT id, name, category_id FROM pets WHERE id = $1`

// FindPet implements [petcat.PetStore].
func (s *Store) FindPet(ctx context.Context, id petcat.PetID) (petcat.Pet, error) {
	return queryRow(s.reader(ctx, "find pet"), scanPet, petcat.NoSuchPet(), selectPet, id)
}

// DeletePet implements [petcat.PetStore].
func (s *Store) DeletePet(ctx context.Context, d petcat.DeletePet) error {
	return callerError(s.deletePet(ctx, d), "repeat it later")
}

// ownedPet is a pet and its creator.
type ownedPet struct {
	petcat.Pet

	creator petcat.AccountID
}

func scanOwnedPet(row Row) (p ownedPet, err error) {
	err = row.Scan(
		&p.ID,
		&p.Name,
		&p.Category,
		&p.creator,
	)
	return p, err
}

const (
	selectOwnedPet = `SELECT id, name, category_id, account_id FROM pets WHERE id = $1`
	deletePet      = `DELETE FROM pets WHERE id = $1`
)

func (s *Store) deletePet(ctx context.Context, d petcat.DeletePet) (err error) {
	tx, err := s.begin(ctx, Work{Doing: "delete pet", Account: d.Account})
	if err != nil {
		return err
	}
	defer tx.End(&err)
	pet, err := queryRow(tx, scanOwnedPet, petcat.NoSuchPet(), selectOwnedPet, d.ID)
	if err != nil {
		return err
	}
	if err := petcat.CheckPetChange(pet.creator, d.Account); err != nil {
		return err
	}
	if err := tx.Run(deletePet, d.ID); err != nil {
		return err
	}
	subject := "pet_" + strconv.FormatInt(int64(d.ID), 10)
	if err := tx.log(d.By, "pet.delete", subject, detail{"name": pet.Name, "account": pet.creator.String()}); err != nil {
		return err
	}
	return tx.Commit()
}

const (
	selectPets = `
		SELECT id, name, category_id FROM pets
		WHERE id > $1
		ORDER BY id LIMIT $2`

	selectPetsOfCategory = `
		SELECT id, name, category_id FROM pets
		WHERE category_id = $1 AND id > $2
		ORDER BY id LIMIT $3`
)

// ListPets implements [petcat.PetStore].
func (s *Store) ListPets(ctx context.Context, q petcat.PetQuery) ([]petcat.Pet, error) {
	c := s.reader(ctx, "list pets")
	if q.Category == 0 {
		return queryRows(c, scanPet, selectPets, q.After, q.Limit)
	}
	return queryRows(c, scanPet, selectPetsOfCategory, q.Category, q.After, q.Limit)
}

// CreateOrder implements [petcat.OrderStore].
func (s *Store) CreateOrder(ctx context.Context, c petcat.CreateOrder) (petcat.CreatedOrder, error) {
	rejected, err := s.checkRows(ctx, c.Account, c.Limit, "orders", selectLastOrder)
	if err != nil {
		return petcat.CreatedOrder{}, err
	}
	created := &Create{
		Account:  c.Account,
		Key:      c.IdempotencyKey,
		New:      c.New,
		Rejected: rejected,
	}
	if err := s.create(ctx, created); err != nil {
		return petcat.CreatedOrder{}, err
	}
	return petcat.CreatedOrder{
		Order:    c.New.WithID(petcat.OrderID(created.ID)),
		Replayed: created.Replayed,
	}, nil
}

const insertOrder = `
	INSERT INTO orders (id, account_id, pet_id, quantity, created_at)
	VALUES ($1, $2, $3, $4, $5)`

// newOrder assigns an id to a create, and returns the arguments of insertOrder.
func (t *Tx) newOrder(c *Create, n petcat.NewOrder) []any {
	t.sequences.Order++
	c.ID = t.sequences.Order
	return []any{
		c.ID,
		c.Account,
		n.Pet(),
		n.Quantity(),
		t.now.UnixMilli(),
	}
}

const selectPetID = `SELECT id FROM pets WHERE id = $1`

func noPet(id petcat.PetID) error {
	return invalid("pet_id must be the id of a pet, and there is no pet %d", id).In("pet_id")
}

func scanOrder(row Row) (o petcat.Order, err error) {
	err = row.Scan(
		&o.ID,
		&o.Pet,
		&o.Quantity,
	)
	return o, err
}

const selectOrders = `
	SELECT id, pet_id, quantity FROM orders
	WHERE account_id = $1 AND id > $2
	ORDER BY id LIMIT $3`

// ListOrders implements [petcat.OrderStore].
func (s *Store) ListOrders(ctx context.Context, q petcat.OrderQuery) ([]petcat.Order, error) {
	c := s.reader(ctx, "list orders")
	return queryRows(c, scanOrder, selectOrders, q.Account, q.After, q.Limit)
}
