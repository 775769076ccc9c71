package store

import (
	"context"

	"github.com/petcat-api/petcat"
)

const (
	selectKeyAccess = `
		SELECT hash, id, account_id, expires_at, networks, read_only, disabled_at IS NOT NULL, revoked_at IS NOT NULL
		FROM api_keys`

	selectKeyAccessSince = selectKeyAccess + ` WHERE revision > $1 ORDER BY revision`
	selectAccountsSince  = `SELECT ` + accountColumns + ` FROM accounts WHERE revision > $1 ORDER BY revision`
	selectBansSince      = `SELECT ` + banColumns + ` FROM bans WHERE revision > $1 ORDER BY revision`
)

func scanKeyAccess(row Row) (k petcat.KeyAccess, err error) {
	err = row.Scan(keyAccessFields(&k)...)
	return k, err
}

// keyAccessFields returns the destinations of the columns of selectKeyAccess.
func keyAccessFields(k *petcat.KeyAccess) []any {
	return []any{
		(*hash)(&k.Hash),
		&k.ID,
		&k.Account,
		(*moment)(&k.ExpiresAt),
		&k.Networks,
		&k.ReadOnly,
		&k.Disabled,
		&k.Revoked,
	}
}

// EachKeyAccess implements [petcat.AccessStore].
func (s *Store) EachKeyAccess(ctx context.Context, fn func(petcat.KeyAccess) error) error {
	// One value for all rows, as in EachCategory.
	var k petcat.KeyAccess
	fields := keyAccessFields(&k)
	scan := func(row Row) (petcat.KeyAccess, error) {
		err := row.Scan(fields...)
		return k, err
	}
	return eachRow(ctx, s, "read the keys", scan, fn, selectKeyAccess)
}

// AccessChangesSince implements [petcat.AccessStore]. It reads the counter first. If no account,
// key or ban has changed since, that is all, even if categories were created. The other queries
// may also return later changes: the next call returns them again, so changes are not missed.
func (s *Store) AccessChangesSince(ctx context.Context, after petcat.Revision) (found petcat.AccessChange, err error) {
	newest := s.db.NewestRead()
	c := s.reader(ctx, "read changes of access")
	n, err := queryRow(c, ScanSequences, nil, SelectSequences)
	if err != nil {
		return found, err
	}
	found.Revision = petcat.Revision(n.Revision)
	s.db.Reached(found.Revision, newest)
	if n.Access <= int64(after) {
		return found, nil
	}
	if found.Keys, err = queryRows(c, scanKeyAccess, selectKeyAccessSince, after); err != nil {
		return found, err
	}
	if found.Accounts, err = queryRows(c, scanAccount, selectAccountsSince, after); err != nil {
		return found, err
	}
	found.Bans, err = queryRows(c, scanBan, selectBansSince, after)
	return found, err
}

// Revision implements [petcat.AccessStore].
func (s *Store) Revision(ctx context.Context) (petcat.Revision, error) {
	n, err := queryRow(s.reader(ctx, "read the revision"), ScanSequences, nil, SelectSequences)
	return petcat.Revision(n.Revision), err
}
