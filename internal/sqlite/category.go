package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"petcat"
	"petcat/internal/claim"
	"petcat/internal/groupcommit"
)

// createOp is the creation of one category.
type createOp struct {
	petcat.CreateCategory
	fingerprint [sha256.Size]byte // only with an idempotency key
	created     petcat.CreatedCategory
}

func (o *createOp) claim() claim.Claim {
	return claim.Claim{Account: o.Account, Key: o.IdempotencyKey}
}

// CreateCategory implements [petcat.CategoryStore].
func (s *Store) CreateCategory(ctx context.Context, c petcat.CreateCategory) (petcat.CreatedCategory, error) {
	o := &op{create: createOp{CreateCategory: c}}
	if c.IdempotencyKey != "" {
		o.create.fingerprint = c.New.Fingerprint()
		if !s.claims.Take(o.create.claim()) {
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
	return o.create.created, nil
}

// run inserts the category, or finds the one that an earlier request made.
func (o *createOp) run(t *tx) error {
	const insert = `INSERT INTO category (id, name, description, revision, account_id, created_at) VALUES (?, ?, ?, ?, ?, ?)`
	if o.IdempotencyKey != "" {
		id, known, err := t.recall(o.claim(), o.fingerprint)
		if err != nil {
			return err
		}
		if known {
			// The same fingerprint means the same texts.
			o.created = petcat.CreatedCategory{Category: o.New.As(id), Replayed: true}
			return nil
		}
	}
	if o.Refused != nil {
		return o.Refused
	}
	t.counters.category++
	category := petcat.RevisedCategory{Category: o.New.As(t.counters.category), Revision: t.revise()}
	var description any
	if category.Description != nil {
		description = *category.Description
	}
	err := t.exec(insert, int64(category.ID), category.Name, description, int64(category.Revision), int64(o.Account), t.now.UnixMilli())
	if err != nil {
		return err
	}
	if o.IdempotencyKey != "" {
		if err := t.remember(o.claim(), o.fingerprint, category.ID); err != nil {
			return err
		}
	}
	o.created = petcat.CreatedCategory{Category: category.Category}
	t.created = append(t.created, category)
	return nil
}

// cancelCheck is after how many rows a stream looks whether its caller is still
// there: often enough, and too seldom to cost anything.
const cancelCheck = 1024

// EachCategory implements [petcat.CategoryStore]. It reads past database/sql,
// which would cost twice as much as reading: a million rows are read at the
// start, while callers wait.
func (s *Store) EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error {
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return translate(err, "read categories")
	}
	defer func() { _ = conn.Close() }()
	var stopped error // by fn
	err = conn.Raw(func(raw any) error {
		var err error
		stopped, err = eachCategory(ctx, raw, fn)
		return err
	})
	if stopped != nil {
		return stopped
	}
	return translate(err, "read categories")
}

func eachCategory(ctx context.Context, raw any, fn func(petcat.RevisedCategory) error) (stopped, err error) {
	const query = `SELECT id, name, description, revision FROM category ORDER BY id`
	queryer, ok := raw.(driver.QueryerContext)
	if !ok {
		return nil, fmt.Errorf("the driver's connection is a %T and cannot be queried", raw)
	}
	rows, err := queryer.QueryContext(context.WithoutCancel(ctx), query, nil) // a context that can end costs a goroutine
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var row [4]driver.Value
	for n := 0; ; n++ {
		if n%cancelCheck == 0 && ctx.Err() != nil {
			return context.Cause(ctx), nil
		}
		switch err := rows.Next(row[:]); {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		}
		category, err := categoryOf(row)
		if err != nil {
			return nil, err
		}
		if err := fn(category); err != nil {
			return err, nil
		}
	}
}

// categoryOf reads a row. The types are those of a STRICT table: anything else
// is damage.
func categoryOf(row [4]driver.Value) (petcat.RevisedCategory, error) {
	id, ok1 := row[0].(int64)
	name, ok2 := row[1].(string)
	revision, ok3 := row[3].(int64)
	c := petcat.RevisedCategory{
		Category: petcat.Category{ID: petcat.CategoryID(id), Name: name},
		Revision: petcat.Revision(revision),
	}
	ok4 := row[2] == nil
	if text, ok := row[2].(string); ok {
		c.Description, ok4 = &text, true
	}
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return c, openErrorf(Damaged, nil, "a category in the database has values of the wrong type; stop petcat and restore a backup")
	}
	return c, nil
}
