package store

import (
	"context"

	"github.com/petcat-api/petcat"
)

// bounds are the bounds of the storage of a serving node.
type bounds struct {
	holdings func(petcat.AccountID) petcat.Holdings
	allBytes int64
}

// BoundCategories bounds the categories of each account and of the deployment. The node has the
// sums in memory: holdings returns what it knows of an account. It is asked before a create waits for its
// commit, so an account may pass its limit by what it stores at the same time, here or on other nodes.
// Call BoundCategories before the store is used concurrently.
func (s *Store) BoundCategories(holdings func(petcat.AccountID) petcat.Holdings, allBytes int64) {
	s.bounds = &bounds{holdings, allBytes}
}

// check returns an [petcat.Error] with [petcat.CodeStorageLimitReached] if an account cannot store
// more. Its limit is zero for an operator. Commands have no bounds.
func (b *bounds) check(account petcat.AccountID, limit, added petcat.Storage) *petcat.Error {
	if b == nil {
		return nil
	}
	room := petcat.StorageRoom{
		Account:  limit,
		AllBytes: b.allBytes,
	}
	return room.Check(b.holdings(account), added)
}

// Each finds a row of the account $1 after $2 others. It reads the index up to there.
const (
	selectLastPet   = `SELECT id FROM pets WHERE account_id = $1 ORDER BY category_id, id LIMIT 1 OFFSET $2`
	selectLastOrder = `SELECT id FROM orders WHERE account_id = $1 ORDER BY id LIMIT 1 OFFSET $2`
)

// checkRows is check for pets or orders, which are not in memory. It reads before the transaction, so
// that other writes do not wait for it.
func (s *Store) checkRows(
	ctx context.Context, account petcat.AccountID, limit petcat.Storage, kind, selectLast string,
) (rejected *petcat.Error, err error) {
	if limit == (petcat.Storage{}) {
		return nil, nil
	}
	last, err := queryRow(s.reader(ctx, "count "+kind), scanNumber, nil, selectLast, account, limit.Categories-1)
	if err != nil || last == 0 {
		return nil, err
	}
	return limit.FullOf(kind), nil
}
