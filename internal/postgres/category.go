package postgres

import (
	"context"
	"crypto/sha256"
	"errors"

	"petcat"
	"petcat/internal/claim"
	"petcat/internal/groupcommit"
)

// createOp is the creation of one category.
type createOp struct {
	petcat.CreateCategory
	fingerprint [sha256.Size]byte // only with an idempotency key
	created     petcat.CreatedCategory
	outcome     error // of this operation alone
}

func (o *createOp) claim() claim.Claim {
	return claim.Claim{Account: o.Account, Key: o.IdempotencyKey}
}

// CreateCategory implements [petcat.CategoryStore].
func (s *Store) CreateCategory(ctx context.Context, c petcat.CreateCategory) (petcat.CreatedCategory, error) {
	if err := s.writer.breaker.tried(); err != nil {
		return petcat.CreatedCategory{}, translate(err, "create category")
	}
	o := &createOp{CreateCategory: c}
	if c.IdempotencyKey == "" && c.Refused != nil {
		return petcat.CreatedCategory{}, c.Refused
	}
	if c.IdempotencyKey != "" {
		o.fingerprint = c.New.Fingerprint()
		if !s.claims.Take(o.claim()) {
			return petcat.CreatedCategory{}, petcat.Errorf(petcat.CodeIdempotencyInProgress, "the first request with this Idempotency-Key is still running; retry in a moment")
		}
	}
	if err := s.group.Submit(ctx, o); err != nil {
		if c.IdempotencyKey != "" && errors.Is(err, groupcommit.ErrRefused) {
			s.claims.Drop(claim.Claim{Account: c.Account, Key: c.IdempotencyKey})
		}
		return petcat.CreatedCategory{}, translate(err, "create category")
	}
	if o.outcome != nil {
		return petcat.CreatedCategory{}, translate(o.outcome, "create category")
	}
	return o.created, nil
}

// EachCategory implements [petcat.CategoryStore].
func (s *Store) EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error {
	const query = `SELECT id, name, description, revision FROM category ORDER BY id`
	return s.pool.each(ctx, "read categories", func(scan scanner) error {
		c, err := scanCategory(scan)
		if err != nil {
			return err
		}
		return stop(fn(c))
	}, query)
}

// feedPage is how many categories one statement of CategoriesSince reads.
const feedPage = 1000

// CategoriesSince implements [petcat.CategoryFeed]. It does not ask the counter:
// categories become visible in the order of their revisions, so nothing is missing
// up to the last one that is seen. The counter's row has many versions while some
// long transaction, such as a backup, is under way; the end of an index has not.
func (s *Store) CategoriesSince(ctx context.Context, after petcat.Revision, fn func(petcat.RevisedCategory) error) (petcat.Revision, error) {
	// The limit is a parameter, so that the server plans for a few rows whatever
	// it knows of the table: a plan that was made when the table was empty is kept,
	// and without a limit it reads and sorts all of it, 0.2 s for a million.
	const query = `SELECT id, name, description, revision FROM category WHERE revision > $1 ORDER BY revision LIMIT $2`
	for last := after; ; {
		rows := 0
		err := s.pool.each(ctx, "read new categories", func(scan scanner) error {
			c, err := scanCategory(scan)
			if err != nil {
				return err
			}
			if err := fn(c); err != nil {
				return stop(err)
			}
			rows++
			last = c.Revision
			return nil
		}, query, int64(last), feedPage)
		if err != nil || rows < feedPage {
			return last, err
		}
	}
}

func scanCategory(scan scanner) (petcat.RevisedCategory, error) {
	var c petcat.RevisedCategory
	var id, revision int64
	err := scan(&id, &c.Name, &c.Description, &revision)
	c.ID, c.Revision = petcat.CategoryID(id), petcat.Revision(revision)
	return c, err
}
