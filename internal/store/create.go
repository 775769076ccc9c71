package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/petcat-api/petcat"
)

// Create is the creation of a category, a pet or an order. A [DB] commits it in a group.
type Create struct {
	// Account is the creator, 0 for the operator By.
	Account petcat.AccountID
	By      petcat.Actor
	// Key is "" if the client did not send an idempotency key.
	Key petcat.IdempotencyKey
	New NewResource
	// Rejected, if not nil, is the error for a new resource. A replay succeeds nevertheless.
	Rejected *petcat.Error
	// Limit is the most that the account may store; zero for an operator.
	Limit  petcat.Storage
	bounds *bounds

	// ID is the id of the resource. Read it and Replayed only after the commit.
	ID int64
	// Replayed is true if an earlier request with the same key created the resource.
	Replayed bool
	// Outcome is the error of this create, if the group was committed without it.
	Outcome error
}

// NewResource is a [petcat.NewCategory], a [petcat.NewPet] or a [petcat.NewOrder].
type NewResource interface {
	Fingerprint() [sha256.Size]byte
}

// decided reports whether a create does not need a new resource: it is a replay or has failed.
func (c *Create) decided() bool { return c.Replayed || c.Outcome != nil }

// create commits a create in a group.
func (s *Store) create(ctx context.Context, c *Create) error {
	end, err := s.claim(scopedKey{c.Account, c.Key})
	if err != nil {
		return err
	}
	defer end()
	return callerError(s.db.Create(ctx, c), "retry it later with the same Idempotency-Key")
}

// CreateAll inserts the resources of a group of creates, or finds those that earlier requests with
// the same idempotency keys created. It takes few round trips. Ids and revisions have the order of
// the group. An error of a single create is its Outcome.
func (t *Tx) CreateAll(group []*Create) error {
	for _, c := range group {
		c.ID, c.Replayed, c.Outcome = 0, false, nil
	}
	if err := t.findReplays(group); err != nil {
		return err
	}
	if err := t.checkReferences(group); err != nil {
		return err
	}
	var rows createRows
	running := make(map[scopedKey]bool)
	for _, c := range group {
		k := scopedKey{c.Account, c.Key}
		switch {
		case c.decided():
			continue
		case c.Rejected != nil:
			c.Outcome = c.Rejected
			continue
		case running[k]: // the first request's client has disconnected
			c.Outcome = errInProgress()
			continue
		}
		if err := t.newRow(c, &rows); err != nil {
			return err
		}
		running[k] = c.Key != "" && c.Outcome == nil
	}
	return t.insert(rows)
}

// createRows are the rows of a group of creates.
type createRows struct {
	categories, pets, orders, keys [][]any
}

// newRow assigns an id to a create, and adds its row and its key's row. A category over the storage limit
// gets an error.
func (t *Tx) newRow(c *Create, rows *createRows) error {
	switch n := c.New.(type) {
	case petcat.NewCategory:
		if c.Outcome = t.grow(c.bounds, c.Account, c.Limit, n.WithID(0).Stored()); c.Outcome == nil {
			row, err := t.newCategory(c, n)
			if err != nil {
				return err
			}
			rows.categories = append(rows.categories, row)
		}
	case petcat.NewPet:
		rows.pets = append(rows.pets, t.newPet(c, n))
	case petcat.NewOrder:
		rows.orders = append(rows.orders, t.newOrder(c, n))
	default:
		return fmt.Errorf("cannot create a %T", n)
	}
	if c.Key != "" && c.Outcome == nil {
		rows.keys = append(rows.keys, idempotencyRow(c))
	}
	return nil
}

func (t *Tx) insert(rows createRows) error {
	if err := insertMany(t, insertCategory, rows.categories); err != nil {
		return err
	}
	if err := insertMany(t, insertPet, rows.pets); err != nil {
		return err
	}
	if err := insertMany(t, insertOrder, rows.orders); err != nil {
		return err
	}
	return insertMany(t, insertIdempotencyKey, rows.keys)
}

// checkReferences rejects pets whose category does not exist, and orders whose pet does not exist.
// Other transactions cannot delete them before this one commits, because it locks the counter row.
func (t *Tx) checkReferences(group []*Create) error {
	var categoryIDs, petIDs []int64
	for _, c := range group {
		if c.decided() {
			continue
		}
		switch n := c.New.(type) {
		case petcat.NewPet:
			categoryIDs = append(categoryIDs, int64(n.Category()))
		case petcat.NewOrder:
			petIDs = append(petIDs, int64(n.Pet()))
		}
	}
	categories, err := existing(t, selectLiveCategory, categoryIDs)
	if err != nil {
		return err
	}
	pets, err := existing(t, selectPetID, petIDs)
	if err != nil {
		return err
	}
	for _, c := range group {
		if c.decided() {
			continue
		}
		switch n := c.New.(type) {
		case petcat.NewPet:
			if !categories[int64(n.Category())] {
				c.Outcome = noCategory(n.Category())
			}
		case petcat.NewOrder:
			if !pets[int64(n.Pet())] {
				c.Outcome = noPet(n.Pet())
			}
		}
	}
	return nil
}

// existing returns the ids that exist. query selects one id if it exists.
func existing(q Querier, query string, ids []int64) (map[int64]bool, error) {
	slices.Sort(ids)
	var args [][]any
	for _, id := range slices.Compact(ids) {
		args = append(args, []any{id})
	}
	found, err := queryEach(q, scanNumber, query, args)
	exist := make(map[int64]bool)
	for _, id := range found {
		exist[id] = true
	}
	return exist, err
}
