package store

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"petcat"
)

// Create is the creation of one category. It is committed in a group.
type Create struct {
	petcat.CreateCategory
	// Created is the result. Read it only after the commit.
	Created petcat.CreatedCategory
	// Outcome is the error of this create, if the group was committed without it.
	Outcome error
}

// CreateCategory implements [petcat.CategoryStore].
func (s *Store) CreateCategory(ctx context.Context, c petcat.CreateCategory) (petcat.CreatedCategory, error) {
	if c.IdempotencyKey == "" && c.Refused != nil {
		return petcat.CreatedCategory{}, c.Refused
	}
	end, err := s.claim(scopedKey{c.Account, c.IdempotencyKey})
	if err != nil {
		return petcat.CreatedCategory{}, err
	}
	defer end()
	o := &Create{CreateCategory: c}
	if err := s.db.Create(ctx, o); err != nil {
		return petcat.CreatedCategory{}, callerError(err, "retry it later with the same Idempotency-Key")
	}
	return o.Created, nil
}

// categorySubject returns the subject of audit entries about a category.
func categorySubject(id petcat.CategoryID) string {
	return "category_" + strconv.FormatInt(int64(id), 10)
}

// CreateAll inserts the categories of a group, or finds the categories that earlier requests
// with the same idempotency keys created. It takes few round trips. An error of a single create
// is its Outcome.
func (t *Tx) CreateAll(group []*Create) error {
	const insert = `INSERT INTO categories (id, name, description, revision, account_id, created_at) VALUES`
	requests := make([]request, len(group))
	for i, c := range group {
		requests[i].scopedKey = scopedKey{c.Account, c.IdempotencyKey}
		if c.IdempotencyKey != "" {
			requests[i].fingerprint = c.New.Fingerprint()
		}
	}
	earlier, err := t.recall(requests)
	if err != nil {
		return err
	}
	var rows [][]any
	created := make(map[int]int64) // ids by index of the request
	running := make(map[scopedKey]bool)
	for i, c := range group {
		c.Created, c.Outcome = petcat.CreatedCategory{}, nil
		switch e := earlier[i]; {
		case e.known: // the fingerprint includes name and description, so they are equal
			c.Created, c.Outcome = petcat.CreatedCategory{Category: c.New.WithID(petcat.CategoryID(e.id)), Replayed: true}, e.conflict
		case c.Refused != nil:
			c.Outcome = c.Refused
		case running[requests[i].scopedKey]: // the first caller has disconnected
			c.Outcome = errInProgress()
		default:
			t.sequences.Category++
			category := petcat.RevisedCategory{Category: c.New.WithID(petcat.CategoryID(t.sequences.Category)), Revision: t.revise()}
			rows = append(rows, []any{int64(category.ID), category.Name, category.Description, int64(category.Revision), int64(c.Account), t.now.UnixMilli()})
			t.changed = append(t.changed, category)
			c.Created.Category = category.Category
			created[i], running[requests[i].scopedKey] = int64(category.ID), c.IdempotencyKey != ""
			if err := t.record(c.By, "category.create", detail{"name": category.Name}, categorySubject(category.ID)); err != nil {
				return err
			}
		}
	}
	if err := execRows(t, RowsInStatement, insert, ``, rows); err != nil {
		return err
	}
	return t.remember(requests, created)
}

// UpdateCategory implements [petcat.CategoryStore].
func (s *Store) UpdateCategory(ctx context.Context, u petcat.UpdateCategory) (petcat.Category, error) {
	after, err := change(ctx, s, Work{"update category", u.Account}, func(t *Tx) (petcat.Category, error) {
		before, err := t.categoryToChange(u.ID, u.Account, u.Expected)
		if err != nil {
			return before, err
		}
		after := petcat.RevisedCategory{Category: u.Patch.Apply(before)}
		if after.Equal(before) {
			return before, nil // without a new revision, to keep the ETags of lists
		}
		return after.Category, t.replaceCategory(after, u.By, "category.update", detail{"from": before.Name, "name": after.Name})
	})
	return after, callerError(err, readLater)
}

// readLater is the advice if the outcome of a change is unknown.
const readLater = "read the category later, then decide"

// DeleteCategory implements [petcat.CategoryStore]. It keeps the row without name and
// description, so that the change feed contains the deletion.
func (s *Store) DeleteCategory(ctx context.Context, d petcat.DeleteCategory) error {
	const used = `SELECT id FROM pets WHERE category_id = ? LIMIT 1`
	err := s.change(ctx, Work{"delete category", d.Account}, func(t *Tx) error {
		before, err := t.categoryToChange(d.ID, d.Account, d.Expected)
		if err != nil {
			return err
		}
		if pet, err := one(t, oneColumn[int64], nil, used, int64(d.ID)); err != nil || pet != 0 {
			return cmp.Or[error](err, petcat.Errorf(petcat.CodeCategoryInUse, "pets use this category, so it cannot be deleted"))
		}
		gone := petcat.RevisedCategory{Category: petcat.Category{ID: d.ID}, Deleted: true}
		return t.replaceCategory(gone, d.By, "category.delete", detail{"name": before.Name})
	})
	return callerError(err, readLater)
}

// replaceCategory writes a changed or deleted category with the next revision.
func (t *Tx) replaceCategory(c petcat.RevisedCategory, by petcat.Actor, action string, d detail) error {
	const update = `UPDATE categories SET name = ?, description = ?, deleted_at = ?, revision = ? WHERE id = ?`
	var deletedAt time.Time
	if c.Deleted {
		deletedAt = t.now
	}
	c.Revision = t.revise()
	t.changed = append(t.changed, c)
	return t.write(entry{by, action, categorySubject(c.ID), d}, update, c.Name, c.Description, millis(deletedAt), int64(c.Revision), int64(c.ID))
}

// categoryToChange returns a category if an account may change it; account 0 is an operator.
// Otherwise it returns the error of [petcat.CheckCategoryChange], or [petcat.NoSuchCategory].
func (t *Tx) categoryToChange(id petcat.CategoryID, by petcat.AccountID, expected *petcat.Category) (petcat.Category, error) {
	const query = `SELECT id, name, description, account_id FROM categories WHERE id = ? AND deleted_at IS NULL`
	type owned struct {
		petcat.Category

		creator petcat.AccountID
	}
	into := func(c *owned) []any { return []any{(*int64)(&c.ID), &c.Name, &c.Description, (*int64)(&c.creator)} }
	c, err := one(t, into, petcat.NoSuchCategory(), query, int64(id))
	if err == nil {
		err = petcat.CheckCategoryChange(c.Category, c.creator, by, expected)
	}
	return c.Category, err
}

const categoryColumns = `id, name, description, revision, deleted_at IS NOT NULL`

// SelectCategories reads all categories.
const SelectCategories = `SELECT ` + categoryColumns + ` FROM categories ORDER BY id`

func categoryInto(c *petcat.RevisedCategory) []any {
	return []any{(*int64)(&c.ID), &c.Name, &c.Description, (*int64)(&c.Revision), &c.Deleted}
}

// EachCategory implements [petcat.CategoryStore].
func (s *Store) EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error {
	return each(ctx, s, "read categories", categoryInto, fn, SelectCategories)
}

// CategoryOrigins returns the creators of categories and the times of creation, in the order of
// ids. It skips ids that do not exist.
func (s *Store) CategoryOrigins(ctx context.Context, ids []petcat.CategoryID) ([]petcat.CategoryOrigin, error) {
	args := rowsOf(ids, func(id *petcat.CategoryID) []any { return []any{(*int64)(id)} })
	return listEach(ctx, s, "read the creators of categories", func(o *petcat.CategoryOrigin) []any {
		return []any{(*int64)(&o.Category), (*int64)(&o.Account), (*moment)(&o.CreatedAt)}
	}, `SELECT id, account_id, created_at FROM categories WHERE id = ?`, args)
}

// FeedPage is the maximum number of rows in a query of [Store.CategoriesSince].
const FeedPage = 1000

// CategoriesSince implements [petcat.CategoryFeed]. Only PostgreSQL needs it: the single server
// of a SQLite file applies its own commits.
//
// Changes become visible in the order of their revisions, so the last row is the end of the
// feed, and the counter need not be read: during a long transaction, such as a backup, the
// counter row has many versions and is slow to read. A category that changes during the read
// gets a higher revision, and is read with it.
func (s *Store) CategoriesSince(ctx context.Context, after petcat.Revision, fn func(petcat.RevisedCategory) error) error {
	// With the LIMIT, PostgreSQL always plans for a few rows. Without it, a cached plan from
	// an empty table later reads and sorts the whole table: 0.2 s for a million rows.
	const query = `SELECT ` + categoryColumns + ` FROM categories WHERE revision > ? ORDER BY revision LIMIT ?`
	for {
		page, err := list(ctx, s, "read changed categories", categoryInto, query, int64(after), FeedPage)
		for _, c := range page {
			if err := fn(c); err != nil {
				return err
			}
			after = c.Revision
		}
		if err != nil || len(page) < FeedPage {
			return err
		}
	}
}
