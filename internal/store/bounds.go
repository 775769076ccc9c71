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
// sums in memory: holdings returns what it knows of an account. On PostgreSQL, an account may pass its
// limit by what was stored in the last second, here or on other nodes. Call BoundCategories before the
// store is used concurrently.
func (s *Store) BoundCategories(holdings func(petcat.AccountID) petcat.Holdings, allBytes int64) {
	s.bounds = &bounds{holdings, allBytes}
}

// growth is what a transaction adds to the storage of an account.
type growth struct {
	account petcat.AccountID
	added   petcat.Storage
}

// grow adds to what an account stores. It returns a [petcat.Error] with
// [petcat.CodeStorageLimitReached] if the account cannot store that much. Its limit is zero for an
// operator. Commands are unbounded.
func (t *Tx) grow(b *bounds, account petcat.AccountID, limit, added petcat.Storage) error {
	if b == nil {
		return nil
	}
	held := b.holdings(account)
	for _, g := range t.growth { // not committed yet
		held.All = held.All.Plus(g.added)
		if g.account == account {
			held.Account = held.Account.Plus(g.added)
		}
	}
	room := petcat.StorageRoom{
		Account:  limit,
		AllBytes: b.allBytes,
	}
	if rejected := room.Check(held, added); rejected != nil {
		return rejected
	}
	t.growth = append(t.growth, growth{account, added})
	return nil
}

// Each finds a row of the account $1 after $2 others. It reads the index up to there.
const (
	selectLastPet   = `SELECT id FROM pets WHERE account_id = $1 ORDER BY category_id, id LIMIT 1 OFFSET $2`
	selectLastOrder = `SELECT id FROM orders WHERE account_id = $1 ORDER BY id LIMIT 1 OFFSET $2`
)

// checkRows checks the pet or order limit, which is not in memory. It reads before the transaction, so
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
