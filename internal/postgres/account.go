package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"petcat"
)

const accountColumns = `id, name, plan, per_minute, per_day, created_at, closed_at`

func scanAccount(scan scanner) (petcat.Account, error) {
	var a petcat.Account
	var created, closed *int64
	err := scan((*int64)(&a.ID), &a.Name, (*string)(&a.Plan), &a.Quota.PerMinute, &a.Quota.PerDay, &created, &closed)
	a.CreatedAt, a.ClosedAt = fromMillis(created), fromMillis(closed)
	return a, err
}

// CreateAccount implements [petcat.AccountStore].
func (s *Store) CreateAccount(ctx context.Context, by petcat.Actor, n petcat.NewAccount) (petcat.Account, error) {
	var a petcat.Account
	err := s.change(ctx, "create account", func(t *tx) error {
		var err error
		a, err = t.createAccount(by, n)
		return err
	})
	if err != nil {
		return petcat.Account{}, err
	}
	return a, nil
}

func (t *tx) createAccount(by petcat.Actor, n petcat.NewAccount) (petcat.Account, error) {
	const taken = `SELECT 1 FROM account WHERE name = $1 AND closed_at IS NULL`
	const insert = `INSERT INTO account (id, name, plan, per_minute, per_day, created_at, revision) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	var one int
	if exists, err := found(t.get(taken, []any{n.Name()}, &one)); err != nil {
		return petcat.Account{}, err
	} else if exists {
		return petcat.Account{}, invalid("there is an account named %q already; choose another name, or close that one first", n.Name())
	}
	t.counters.account++
	a := petcat.Account{ID: petcat.AccountID(t.counters.account), Name: n.Name(), Plan: n.Subscription().Plan(), Quota: n.Subscription().Quota(), CreatedAt: t.now}
	err := t.exec(insert, int64(a.ID), a.Name, string(a.Plan), a.Quota.PerMinute, a.Quota.PerDay, a.CreatedAt.UnixMilli(), t.reviseAccess())
	if err != nil {
		return petcat.Account{}, err
	}
	return a, t.record(by, "account.create", a.ID, detail{"name": a.Name, "plan": a.Plan, "per_minute": a.Quota.PerMinute, "per_day": a.Quota.PerDay})
}

// FindAccount implements [petcat.AccountStore].
func (s *Store) FindAccount(ctx context.Context, ref string) (petcat.Account, error) {
	const byID = `SELECT ` + accountColumns + ` FROM account WHERE id = $1`
	// false sorts first, and the last closed one is the likeliest to be meant.
	const byName = `SELECT ` + accountColumns + ` FROM account WHERE name = $1 ORDER BY closed_at IS NOT NULL, id DESC LIMIT 1`
	query, arg := byName, any(ref)
	if id, isID := petcat.ParseAccountRef(ref); isID {
		query, arg = byID, int64(id)
	}
	var a petcat.Account
	var ok bool
	err := s.pool.read(ctx, "find account", func(ctx context.Context, conn *pgx.Conn) error {
		var err error
		a, err = scanAccount(conn.QueryRow(ctx, query, arg).Scan)
		ok, err = found(err)
		return err
	})
	switch {
	case err != nil:
		return petcat.Account{}, err
	case !ok:
		return petcat.Account{}, noAccount(ref)
	}
	return a, nil
}

func noAccount(ref string) error {
	return notFound("there is no account %q; list the accounts with: petcat account list", ref)
}

// EachAccount implements [petcat.AccountStore].
func (s *Store) EachAccount(ctx context.Context, fn func(petcat.Account) error) error {
	const query = `SELECT ` + accountColumns + ` FROM account ORDER BY id`
	return s.pool.each(ctx, "read accounts", func(scan scanner) error {
		a, err := scanAccount(scan)
		if err != nil {
			return err
		}
		return stop(fn(a))
	}, query)
}

// ChangeSubscription implements [petcat.AccountStore].
func (s *Store) ChangeSubscription(ctx context.Context, by petcat.Actor, id petcat.AccountID, sub petcat.Subscription) (petcat.Account, error) {
	var a petcat.Account
	err := s.change(ctx, "change subscription", func(t *tx) error {
		var err error
		a, err = t.changeSubscription(by, id, sub)
		return err
	})
	if err != nil {
		return petcat.Account{}, err
	}
	return a, nil
}

func (t *tx) changeSubscription(by petcat.Actor, id petcat.AccountID, sub petcat.Subscription) (petcat.Account, error) {
	const update = `UPDATE account SET plan = $1, per_minute = $2, per_day = $3, revision = $4 WHERE id = $5`
	a, err := t.openAccount(id)
	if err != nil || a.Plan == sub.Plan() && a.Quota == sub.Quota() {
		return a, err
	}
	was := a.Plan
	a.Plan, a.Quota = sub.Plan(), sub.Quota()
	if err := t.exec(update, string(a.Plan), a.Quota.PerMinute, a.Quota.PerDay, t.reviseAccess(), int64(id)); err != nil {
		return petcat.Account{}, err
	}
	return a, t.record(by, "account.set_plan", id, detail{"from": was, "plan": a.Plan, "per_minute": a.Quota.PerMinute, "per_day": a.Quota.PerDay})
}

// CloseAccount implements [petcat.AccountStore].
func (s *Store) CloseAccount(ctx context.Context, by petcat.Actor, id petcat.AccountID) (petcat.Account, error) {
	var a petcat.Account
	err := s.change(ctx, "close account", func(t *tx) error {
		var err error
		a, err = t.closeAccount(by, id)
		return err
	})
	if err != nil {
		return petcat.Account{}, err
	}
	return a, nil
}

func (t *tx) closeAccount(by petcat.Actor, id petcat.AccountID) (petcat.Account, error) {
	const update = `UPDATE account SET closed_at = $1, revision = $2 WHERE id = $3`
	a, err := t.account(id)
	if err != nil || a.Closed() {
		return a, err
	}
	revoked, err := t.revokeAll(by, id, detail{"because": "account.close"})
	if err != nil {
		return petcat.Account{}, err
	}
	a.ClosedAt = t.now
	if err := t.exec(update, a.ClosedAt.UnixMilli(), t.reviseAccess(), int64(id)); err != nil {
		return petcat.Account{}, err
	}
	return a, t.record(by, "account.close", id, detail{"revoked_keys": revoked})
}

// account reads an account in the transaction.
func (t *tx) account(id petcat.AccountID) (petcat.Account, error) {
	const query = `SELECT ` + accountColumns + ` FROM account WHERE id = $1`
	a, err := scanAccount(func(into ...any) error { return t.get(query, []any{int64(id)}, into...) })
	if ok, err := found(err); err != nil {
		return petcat.Account{}, err
	} else if !ok {
		return petcat.Account{}, noAccount(id.String())
	}
	return a, nil
}

// openAccount reads an account that may still be changed.
func (t *tx) openAccount(id petcat.AccountID) (petcat.Account, error) {
	a, err := t.account(id)
	if err == nil && a.Closed() {
		return petcat.Account{}, invalid("the account %s is closed, which is for ever; create a new one instead", id)
	}
	return a, err
}
