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
	const taken = `SELECT id FROM accounts WHERE name = ? AND closed_at IS NULL`
	const insert = `INSERT INTO accounts (id, name, plan, per_minute, per_day, created_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?)`
	if _, exists, err := one(t, oneColumn[int64], taken, n.Name()); err != nil {
		return petcat.Account{}, err
	} else if exists {
		return petcat.Account{}, invalid("there is an account named %q already; choose another name, or close that one first", n.Name())
	}
	t.sequences.Account++
	a := petcat.Account{ID: t.sequences.Account, Name: n.Name(), Plan: n.Subscription().Plan(), Quota: n.Subscription().Quota(), CreatedAt: t.now}
	e := entry{by, "account.create", a.ID, detail{"name": a.Name, "plan": a.Plan, "per_minute": a.Quota.PerMinute, "per_day": a.Quota.PerDay}}
	return a, t.write(e, insert, int64(a.ID), a.Name, string(a.Plan), a.Quota.PerMinute, a.Quota.PerDay, a.CreatedAt.UnixMilli(), int64(t.reviseAccess()))
}

// FindAccount implements [petcat.AccountStore].
func (s *Store) FindAccount(ctx context.Context, ref string) (petcat.Account, error) {
	// An open account sorts first (false before true), then the account that was created last.
	const byName = `SELECT ` + accountColumns + ` FROM accounts WHERE name = ? ORDER BY closed_at IS NOT NULL, id DESC LIMIT 1`
	query, arg := byName, any(ref)
	if id, isID := petcat.ParseAccountRef(ref); isID {
		query, arg = accountByID, int64(id)
	}
	return mustFind(ctx, s, "find account", accountInto, noAccount(ref), query, arg)
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
	const update = `UPDATE accounts SET plan = ?, per_minute = ?, per_day = ?, revision = ? WHERE id = ?`
	return change(ctx, s, "change subscription", func(t *Tx) (petcat.Account, error) {
		a, err := t.openAccount(id)
		if err != nil || a.Plan == sub.Plan() && a.Quota == sub.Quota() {
			return a, err
		}
		was := a.Plan
		a.Plan, a.Quota = sub.Plan(), sub.Quota()
		e := entry{by, "account.set_plan", id, detail{"from": was, "plan": a.Plan, "per_minute": a.Quota.PerMinute, "per_day": a.Quota.PerDay}}
		return a, t.write(e, update, string(a.Plan), a.Quota.PerMinute, a.Quota.PerDay, int64(t.reviseAccess()), int64(id))
	})
}

// CloseAccount implements [petcat.AccountStore].
func (s *Store) CloseAccount(ctx context.Context, by petcat.Actor, id petcat.AccountID) (petcat.Account, error) {
	const update = `UPDATE accounts SET closed_at = ?, revision = ? WHERE id = ?`
	return change(ctx, s, "close account", func(t *Tx) (petcat.Account, error) {
		a, err := t.account(id)
		if err != nil || a.Closed() {
			return a, err
		}
		revoked, err := t.revokeAll(by, id, detail{"because": "account.close"})
		if err != nil {
			return a, err
		}
		a.ClosedAt = t.now
		return a, t.write(entry{by, "account.close", id, detail{"revoked_keys": revoked}}, update, a.ClosedAt.UnixMilli(), int64(t.reviseAccess()), int64(id))
	})
}

// account reads an account in the transaction.
func (t *Tx) account(id petcat.AccountID) (petcat.Account, error) {
	return must(t, accountInto, noAccount(id.String()), accountByID, int64(id))
}

// openAccount reads an account that may still be changed.
func (t *Tx) openAccount(id petcat.AccountID) (petcat.Account, error) {
	a, err := t.account(id)
	if err == nil && a.Closed() {
		return petcat.Account{}, invalid("the account %s is closed, which is permanent; create a new one instead", id)
	}
	return a, err
}
