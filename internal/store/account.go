package store

import (
	"context"
	"strconv"

	"petcat"
)

const accountColumns = `id, name, plan, per_minute, per_day, created_at, closed_at`

func accountInto(a *petcat.Account) []any {
	return []any{(*int64)(&a.ID), &a.Name, (*string)(&a.Plan), &a.Quota.PerMinute, &a.Quota.PerDay, (*moment)(&a.CreatedAt), (*moment)(&a.ClosedAt)}
}

// CreateAccount implements [petcat.AccountStore].
func (s *Store) CreateAccount(ctx context.Context, by petcat.Actor, n petcat.NewAccount) (petcat.Account, error) {
	return change(ctx, s, "create account", func(t *Tx) (petcat.Account, error) { return t.CreateAccount(by, n) })
}

// CreateAccount does what [Store.CreateAccount] does as a part of the transaction.
func (t *Tx) CreateAccount(by petcat.Actor, n petcat.NewAccount) (petcat.Account, error) {
	const taken = `SELECT 1 FROM accounts WHERE name = ? AND closed_at IS NULL`
	const insert = `INSERT INTO accounts (id, name, plan, per_minute, per_day, created_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?)`
	var exists int
	if found, err := t.QueryRow(taken, []any{n.Name()}, &exists); err != nil {
		return petcat.Account{}, err
	} else if found {
		return petcat.Account{}, invalid("there is an account named %q already; choose another name, or close that one first", n.Name())
	}
	t.sequences.Account++
	a := petcat.Account{ID: t.sequences.Account, Name: n.Name(), Plan: n.Subscription().Plan(), Quota: n.Subscription().Quota(), CreatedAt: t.now}
	err := t.exec(insert, int64(a.ID), a.Name, string(a.Plan), a.Quota.PerMinute, a.Quota.PerDay, a.CreatedAt.UnixMilli(), int64(t.reviseAccess()))
	if err != nil {
		return petcat.Account{}, err
	}
	return a, t.record(by, "account.create", a.ID, detail{"name": a.Name, "plan": a.Plan, "per_minute": a.Quota.PerMinute, "per_day": a.Quota.PerDay})
}

// FindAccount implements [petcat.AccountStore].
func (s *Store) FindAccount(ctx context.Context, ref string) (petcat.Account, error) {
	// An open account sorts first (false before true), then the account that was created last.
	const byName = `SELECT ` + accountColumns + ` FROM accounts WHERE name = ? ORDER BY closed_at IS NOT NULL, id DESC LIMIT 1`
	query, arg := byName, any(ref)
	if id, isID := petcat.ParseAccountRef(ref); isID {
		query, arg = accountByID, int64(id)
	}
	a, found, err := find(ctx, s, "find account", accountInto, query, arg)
	if err == nil && !found {
		err = noAccount(ref)
	}
	if err != nil {
		return petcat.Account{}, err
	}
	return a, nil
}

const accountByID = `SELECT ` + accountColumns + ` FROM accounts WHERE id = ?`

func noAccount(ref string) error {
	if n, err := strconv.ParseInt(ref, 10, 64); err == nil { // a number may be a name
		return notFound("there is no account named %q; if that is an id, write %s", ref, petcat.AccountID(n))
	}
	return notFound("there is no account %q", ref)
}

// EachAccount implements [petcat.AccountStore].
func (s *Store) EachAccount(ctx context.Context, fn func(petcat.Account) error) error {
	const query = `SELECT ` + accountColumns + ` FROM accounts ORDER BY id`
	return each(ctx, s, "read accounts", accountInto, fn, query)
}

// ChangeSubscription implements [petcat.AccountStore].
func (s *Store) ChangeSubscription(ctx context.Context, by petcat.Actor, id petcat.AccountID, sub petcat.Subscription) (petcat.Account, error) {
	return change(ctx, s, "change subscription", func(t *Tx) (petcat.Account, error) { return t.changeSubscription(by, id, sub) })
}

func (t *Tx) changeSubscription(by petcat.Actor, id petcat.AccountID, sub petcat.Subscription) (petcat.Account, error) {
	const update = `UPDATE accounts SET plan = ?, per_minute = ?, per_day = ?, revision = ? WHERE id = ?`
	a, err := t.openAccount(id)
	if err != nil || a.Plan == sub.Plan() && a.Quota == sub.Quota() {
		return a, err
	}
	was := a.Plan
	a.Plan, a.Quota = sub.Plan(), sub.Quota()
	if err := t.exec(update, string(a.Plan), a.Quota.PerMinute, a.Quota.PerDay, int64(t.reviseAccess()), int64(id)); err != nil {
		return petcat.Account{}, err
	}
	return a, t.record(by, "account.set_plan", id, detail{"from": was, "plan": a.Plan, "per_minute": a.Quota.PerMinute, "per_day": a.Quota.PerDay})
}

// CloseAccount implements [petcat.AccountStore].
func (s *Store) CloseAccount(ctx context.Context, by petcat.Actor, id petcat.AccountID) (petcat.Account, error) {
	return change(ctx, s, "close account", func(t *Tx) (petcat.Account, error) { return t.closeAccount(by, id) })
}

func (t *Tx) closeAccount(by petcat.Actor, id petcat.AccountID) (petcat.Account, error) {
	const update = `UPDATE accounts SET closed_at = ?, revision = ? WHERE id = ?`
	a, err := t.account(id)
	if err != nil || a.Closed() {
		return a, err
	}
	revoked, err := t.revokeAll(by, id, detail{"because": "account.close"})
	if err != nil {
		return petcat.Account{}, err
	}
	a.ClosedAt = t.now
	if err := t.exec(update, a.ClosedAt.UnixMilli(), int64(t.reviseAccess()), int64(id)); err != nil {
		return petcat.Account{}, err
	}
	return a, t.record(by, "account.close", id, detail{"revoked_keys": revoked})
}

// account reads an account in the transaction.
func (t *Tx) account(id petcat.AccountID) (petcat.Account, error) {
	a, found, err := one(t, accountInto, accountByID, int64(id))
	if err == nil && !found {
		err = noAccount(id.String())
	}
	return a, err
}

// openAccount reads an account that may still be changed.
func (t *Tx) openAccount(id petcat.AccountID) (petcat.Account, error) {
	a, err := t.account(id)
	if err == nil && a.Closed() {
		return petcat.Account{}, invalid("the account %s is closed, which is permanent; create a new one instead", id)
	}
	return a, err
}
