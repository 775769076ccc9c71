package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/petcat-api/petcat"
)

// purge is a purge of an account. It is the detail of its audit entry, from which a retry reads it.
type purge struct {
	Categories int64 `json:"categories"` // how many there were, as the next two
	Pets       int64 `json:"pets"`
	Orders     int64 `json:"orders"`
	// Ids above these were created after the purge began.
	LastCategory int64 `json:"last_category"`
	LastPet      int64 `json:"last_pet"`
	LastOrder    int64 `json:"last_order"`

	account  petcat.AccountID
	replayed bool // the purge was begun by an earlier request
}

// PurgeAccount implements [petcat.AccountStore]. The rows are deleted in short transactions, so that
// other writes do not wait for long.
func (s *Store) PurgeAccount(
	ctx context.Context, by petcat.Author, id petcat.AccountID,
) (r petcat.Result[petcat.Purge], err error) {
	p, err := s.beginPurge(ctx, by, id)
	if err != nil {
		return r, err
	}
	if err := s.deletePurged(ctx, p); err != nil {
		return r, purgeError(err)
	}
	return petcat.Result[petcat.Purge]{
		Value: petcat.Purge{
			Account:    id,
			Categories: p.Categories,
			Pets:       p.Pets,
			Orders:     p.Orders,
		},
		Replayed: p.replayed,
	}, nil
}

// purgeError returns the error of a purge that has begun.
func purgeError(err error) error {
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		return err
	}
	return Unavailable("the purge was interrupted, and a part is deleted; repeat it to delete the rest", err)
}

// beginPurge commits the audit entry of a purge, with the idempotency key.
func (s *Store) beginPurge(ctx context.Context, by petcat.Author, id petcat.AccountID) (p purge, err error) {
	const action = "account.purge"
	found, err := s.findPurged(ctx, id)
	if err != nil {
		return p, err
	}
	tx, err := s.begin(ctx, Work{Doing: "begin purge"})
	if err != nil {
		return p, err
	}
	defer tx.End(&err)
	earlier, err := tx.replays(by, action)
	if err != nil {
		return p, err
	}
	if earlier != 0 {
		p, err = tx.earlierPurge(earlier, id)
		if err != nil {
			return p, err
		}
		return p, tx.Commit()
	}
	if _, err := findAccount(tx, id); err != nil {
		return p, err
	}
	d := detail{
		"categories":    found.Categories,
		"pets":          found.Pets,
		"orders":        found.Orders,
		"last_category": found.LastCategory,
		"last_pet":      found.LastPet,
		"last_order":    found.LastOrder,
	}
	if err := tx.log(by.Actor, action, id.String(), d); err != nil {
		return p, err
	}
	head, err := tx.auditHead()
	if err != nil {
		return p, err
	}
	return found, tx.commitOnce(by, action, head.Sequence)
}

const countPurged = `
	SELECT
		(SELECT count(*) FROM categories WHERE account_id = $1 AND id <= $2 AND deleted_at IS NULL),
		(SELECT count(*) FROM pets WHERE account_id = $1 AND id <= $3),
		(SELECT count(*) FROM orders WHERE account_id = $1 AND id <= $4)`

// findPurged returns what a purge of an account deletes. It counts outside the transaction, because that
// may take long. All rows with the ids of the counter are committed.
func (s *Store) findPurged(ctx context.Context, id petcat.AccountID) (purge, error) {
	c := s.reader(ctx, "count what an account created")
	n, err := ReadSequences(c)
	if err != nil {
		return purge{}, err
	}
	p := purge{
		LastCategory: n.Category,
		LastPet:      n.Pet,
		LastOrder:    n.Order,
		account:      id,
	}
	scan := func(row Row) (purge, error) {
		err := row.Scan(&p.Categories, &p.Pets, &p.Orders)
		return p, err
	}
	return queryRow(c, scan, nil, countPurged, id, n.Category, n.Pet, n.Order)
}

const selectAuditDetail = `SELECT detail FROM audit WHERE sequence = $1`

// earlierPurge returns the purge that an audit entry began.
func (t *Tx) earlierPurge(entry int64, id petcat.AccountID) (purge, error) {
	p := purge{account: id, replayed: true}
	missing := fmt.Errorf("the audit entry %d of a purge is missing", entry)
	text, err := queryRow(t, scanSharedText, missing, selectAuditDetail, entry)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("the audit entry %d of a purge: %w", entry, err)
	}
	return p, nil
}

// purgedAtOnce is the maximum number of rows that a transaction of a purge deletes.
const purgedAtOnce = 500

// deletePurged deletes what a purge has found. It deletes orders before their pets, and pets before
// their categories, as a customer would.
func (s *Store) deletePurged(ctx context.Context, p purge) error {
	for last, more := int64(0), true; more; {
		var err error
		if last, more, err = s.purgeOrders(ctx, p, last); err != nil {
			return err
		}
	}
	for last, more := (petcat.Pet{}), true; more; {
		var err error
		if last, more, err = s.purgePets(ctx, p, last); err != nil {
			return err
		}
	}
	for last, more := int64(0), true; more; {
		var err error
		if last, more, err = s.purgeCategories(ctx, p, last); err != nil {
			return err
		}
	}
	return nil
}

const (
	selectPurgedOrders = `
		SELECT id FROM orders
		WHERE account_id = $1 AND id > $2 AND id <= $3
		ORDER BY id LIMIT $4`

	deleteOrder = `DELETE FROM orders WHERE id = $1`
)

// purgeOrders deletes the next orders after an id. It returns the last one, and whether there may be
// more.
func (s *Store) purgeOrders(ctx context.Context, p purge, after int64) (last int64, more bool, err error) {
	tx, err := s.begin(ctx, Work{Doing: "purge orders"})
	if err != nil {
		return 0, false, err
	}
	defer tx.End(&err)
	ids, err := queryRows(tx, scanNumber, selectPurgedOrders, p.account, after, p.LastOrder, purgedAtOnce)
	if err != nil {
		return 0, false, err
	}
	for _, last = range ids {
		if err := tx.Run(deleteOrder, last); err != nil {
			return 0, false, err
		}
	}
	return last, len(ids) == purgedAtOnce, tx.Commit()
}

// selectPurgedPets has the order of the index.
const selectPurgedPets = `
	SELECT id, name, category_id FROM pets
	WHERE account_id = $1 AND (category_id, id) > ($2, $3) AND id <= $4
	ORDER BY category_id, id LIMIT $5`

// purgePets deletes the next pets after one, in the order of their categories. See purgeOrders.
func (s *Store) purgePets(ctx context.Context, p purge, after petcat.Pet) (last petcat.Pet, more bool, err error) {
	tx, err := s.begin(ctx, Work{Doing: "purge pets"})
	if err != nil {
		return last, false, err
	}
	defer tx.End(&err)
	pets, err := queryRows(tx, scanPet, selectPurgedPets,
		p.account,
		after.Category,
		after.ID,
		p.LastPet,
		purgedAtOnce,
	)
	if err != nil {
		return last, false, err
	}
	for _, last = range pets {
		if err := tx.Run(deletePet, last.ID); err != nil {
			return last, false, err
		}
	}
	return last, len(pets) == purgedAtOnce, tx.Commit()
}

const selectPurgedCategories = `
	SELECT id FROM categories
	WHERE account_id = $1 AND deleted_at IS NULL AND id > $2 AND id <= $3
	ORDER BY id`

// purgeCategories deletes the account's categories among the next ids, as DeleteCategory does. It
// returns the last of these ids, and whether there are more. There is no index by account, because
// each create would have to maintain it.
func (s *Store) purgeCategories(ctx context.Context, p purge, after int64) (last int64, more bool, err error) {
	last = min(after+purgedAtOnce, p.LastCategory)
	tx, err := s.begin(ctx, Work{Doing: "purge categories"})
	if err != nil {
		return 0, false, err
	}
	defer tx.End(&err)
	ids, err := queryRows(tx, scanNumber, selectPurgedCategories, p.account, after, last)
	if err != nil {
		return 0, false, err
	}
	for _, id := range ids {
		gone := petcat.RevisedCategory{
			Category: petcat.Category{ID: petcat.CategoryID(id)},
			Account:  p.account,
			Deleted:  true,
		}
		if err := tx.replaceCategory(gone); err != nil {
			return 0, false, err
		}
	}
	return last, last < p.LastCategory, tx.Commit()
}
