package store

import (
	"context"
	"crypto/sha256"

	"petcat"
	"petcat/internal/groupcommit"
)

// Create is the creation of one category, on its way to a commit with others.
type Create struct {
	petcat.CreateCategory
	Fingerprint [sha256.Size]byte // only with an idempotency key
	// Created is the answer. Nobody reads it before the commit.
	Created petcat.CreatedCategory
	// Outcome is an error of this create alone.
	Outcome error
}

func (c *Create) claim() claim { return claim{account: c.Account, key: c.IdempotencyKey} }

// CreateCategory implements [petcat.CategoryStore].
func (s *Store) CreateCategory(ctx context.Context, c petcat.CreateCategory) (petcat.CreatedCategory, error) {
	o := &Create{CreateCategory: c}
	switch {
	case c.IdempotencyKey == "" && c.Refused != nil:
		return petcat.CreatedCategory{}, c.Refused
	case c.IdempotencyKey != "":
		o.Fingerprint = c.New.Fingerprint()
		if !s.claims.take(o.claim()) {
			return petcat.CreatedCategory{}, petcat.Errorf(petcat.CodeIdempotencyInProgress, "the first request with this Idempotency-Key is still running; retry in a moment")
		}
	}
	if err := s.db.Create(ctx, o); err != nil {
		if groupcommit.Refused(err) {
			s.Release(o)
		}
		return petcat.CreatedCategory{}, err
	}
	return o.Created, nil
}

// Release lets go of the idempotency key of a create that was attempted. A request
// on another node with that key waits for the commit, and finds the key.
func (s *Store) Release(c *Create) {
	if c.IdempotencyKey != "" {
		s.claims.drop(c.claim())
	}
}

// Create runs a create: it makes the category, or finds the one that an earlier
// request made. The revision is 0 when none was made.
func (t *Tx) Create(c *Create) (made petcat.RevisedCategory, err error) {
	const insert = `INSERT INTO category (id, name, description, revision, account_id, created_at) VALUES (?, ?, ?, ?, ?, ?)`
	if c.IdempotencyKey != "" {
		if known, err := t.recall(c); err != nil || known {
			return made, err
		}
	}
	if c.Refused != nil {
		return made, c.Refused
	}
	t.numbers.Category++
	category := petcat.RevisedCategory{Category: c.New.As(t.numbers.Category), Revision: t.revise()}
	var description any
	if category.Description != nil {
		description = *category.Description
	}
	err = t.exec(insert, int64(category.ID), category.Name, description, int64(category.Revision), int64(c.Account), t.now.UnixMilli())
	if err == nil && c.IdempotencyKey != "" {
		err = t.remember(c, category.ID)
	}
	if err != nil {
		return made, err
	}
	c.Created = petcat.CreatedCategory{Category: category.Category}
	return category, nil
}

const categoryColumns = `id, name, description, revision`

// SelectCategories reads all categories.
const SelectCategories = `SELECT ` + categoryColumns + ` FROM category ORDER BY id`

func scanCategory(scan Scan) (petcat.RevisedCategory, error) {
	var c petcat.RevisedCategory
	err := scan((*int64)(&c.ID), &c.Name, &c.Description, (*int64)(&c.Revision))
	return c, err
}

// EachCategory implements [petcat.CategoryStore].
func (s *Store) EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error {
	return each(ctx, s, "read categories", scanCategory, fn, SelectCategories)
}

// FeedPage is how many categories one statement of [Store.CategoriesSince] reads.
const FeedPage = 1000

// CategoriesSince implements [petcat.CategoryFeed], on PostgreSQL alone: the one server
// of a SQLite file is handed what it commits. It does not ask the counter:
// categories become visible in the order of their revisions, so nothing is missing
// up to the last one that is seen. The counter's row has many versions while some
// long transaction, such as a backup, is under way; the end of an index has not.
func (s *Store) CategoriesSince(ctx context.Context, after petcat.Revision, fn func(petcat.RevisedCategory) error) (petcat.Revision, error) {
	// The limit is a parameter, so that the server plans for a few rows whatever
	// it knows of the table: a plan that was made when the table was empty is kept,
	// and without a limit it reads and sorts all of it, 0.2 s for a million.
	const query = `SELECT ` + categoryColumns + ` FROM category WHERE revision > ? ORDER BY revision LIMIT ?`
	for last := after; ; {
		rows := 0
		err := each(ctx, s, "read new categories", scanCategory, func(c petcat.RevisedCategory) error {
			if err := fn(c); err != nil {
				return err
			}
			rows++
			last = c.Revision
			return nil
		}, query, int64(last), FeedPage)
		if err != nil || rows < FeedPage {
			return last, err
		}
	}
}
