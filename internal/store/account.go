package store

import (
	"context"
	"strconv"
	"strings"

	"petcat"
)

const accountColumns = `id, name, plan, per_minute, per_day, created_at, closed_at`

func accountInto(a *petcat.Account) []any {
	return []any{(*int64)(&a.ID), &a.Name, (*string)(&a.Plan), &a.Quota.PerMinute, &a.Quota.PerDay, (*moment)(&a.CreatedAt), (*moment)(&a.ClosedAt)}
}

// CreateAccount implements [petcat.AccountStore].
func (s *Store) CreateAccount(ctx context.Context, by petcat.Actor, name petcat.AccountName, sub petcat.Subscription) (petcat.Account, error) {
	return change(ctx, s, Work{Doing: "create account"}, func(t *Tx) (petcat.Account, error) { return t.CreateAccount(by, name, sub) })
}

// CreateAccount is [Store.CreateAccount] within a transaction.
func (t *Tx) CreateAccount(by petcat.Actor, name petcat.AccountName, sub petcat.Subscription) (petcat.Account, error) {
	if err := t.checkNameFree(name); err != nil {
		return petcat.Account{}, err
	}
	t.sequences.Account++
	a := petcat.Account{ID: petcat.AccountID(t.sequences.Account), Name: string(name), Plan: sub.Plan(), Quota: sub.Quota(), CreatedAt: t.now}
	return t.putAccount(a, by, "account.create", detail{"name": a.Name, "plan": a.Plan, "per_minute": a.Quota.PerMinute, "per_day": a.Quota.PerDay})
}

// putAccount writes a new or changed account, and returns it.
func (t *Tx) putAccount(a petcat.Account, by petcat.Actor, action string, d detail) (petcat.Account, error) {
	return a, t.put(entry{by, action, a.ID.String(), d}, "accounts", "id", accountColumns+", revision", append(accountInto(&a), t.reviseAccess()))
}

// checkNameFree returns an error if an open account has the name.
func (t *Tx) checkNameFree(name petcat.AccountName) error {
	const query = `SELECT id FROM accounts WHERE name = ? AND closed_at IS NULL`
	id, err := one(t, oneColumn[int64], nil, query, string(name))
	if err == nil && id != 0 {
		err = petcat.Errorf(petcat.CodeInvalidField, "there is an account named %q already; choose another name, or close that one first", name).In("name")
	}
	return err
}

// FindAccount implements [petcat.AccountStore].
func (s *Store) FindAccount(ctx context.Context, ref string) (petcat.Account, error) {
	// Open accounts first (false sorts before true), then the newest.
	const byName = `SELECT ` + accountColumns + ` FROM accounts WHERE name = ? ORDER BY closed_at IS NOT NULL, id DESC LIMIT 1`
	return read(ctx, s, "find account", func(c Conn) (petcat.Account, error) {
		if id, isID := petcat.ParseAccountRef(ref); isID {
			return accountByID(c, id)
		}
		return one(c, accountInto, noAccount(ref), byName, ref)
	})
}

func accountByID(c Conn, id petcat.AccountID) (petcat.Account, error) {
	return one(c, accountInto, noAccount(id.String()), `SELECT `+accountColumns+` FROM accounts WHERE id = ?`, int64(id))
}

func noAccount(ref string) error {
	if n, err := strconv.ParseInt(ref, 10, 64); err == nil { // a name may be a number
		return notFound("there is no account named %q; if that is an id, write %s", ref, petcat.AccountID(n))
	}
	return notFound("there is no account %q", ref)
}

// openAccount returns an account, or an error if it is closed.
func (t *Tx) openAccount(id petcat.AccountID) (petcat.Account, error) {
	a, err := accountByID(t, id)
	if err == nil && a.Closed() {
		err = invalid("the account %s is closed, which is permanent; create a new one instead", id)
	}
	return a, err
}

// EachAccount implements [petcat.AccountStore].
func (s *Store) EachAccount(ctx context.Context, fn func(petcat.Account) error) error {
	return each(ctx, s, "read accounts", accountInto, fn, `SELECT `+accountColumns+` FROM accounts ORDER BY id`)
}

// lastCharacter is the largest code point. A prefix with it appended sorts after all names with
// that prefix.
const lastCharacter = "\U0010FFFF"

// AccountPage implements [petcat.AccountStore].
func (s *Store) AccountPage(ctx context.Context, q petcat.AccountQuery) ([]petcat.Account, error) {
	var c conditions
	prefix, after := asciiLower(q.Prefix), asciiLower(q.After.Name)
	// Not (lower(name), id) > (?, ?): SQLite cannot use an index on an expression for that.
	c.when(q.Plan != "", `plan = ?`, string(q.Plan))
	c.when(q.After.ID != 0, `lower(name) >= ? AND (lower(name) > ? OR id > ?)`, after, after, int64(q.After.ID))
	c.when(prefix != "", `lower(name) >= ? AND lower(name) < ?`, prefix, prefix+lastCharacter)
	query, args := c.page(`SELECT `+accountColumns+` FROM accounts`, `lower(name), id`, q.Limit)
	return list(ctx, s, "read a page of accounts", accountInto, query, args...)
}

// asciiLower does what lower() does to the column name. On PostgreSQL, lower() of an argument
// depends on the locale of the database.
func asciiLower(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + ('a' - 'A')
		}
		return c
	}, name)
}

// AccountSummaries implements [petcat.AccountStore].
func (s *Store) AccountSummaries(ctx context.Context, ids []petcat.AccountID) ([]petcat.AccountSummary, error) {
	const query = askedHours + ` SELECT ` + accountColumns + `,
		(SELECT count(*) FROM api_keys AS k WHERE k.account_id = a.id AND k.revoked_at IS NULL AND k.disabled_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)),
		(SELECT count(*) FROM api_keys AS k JOIN bans AS b ON b.key_id = k.id WHERE k.account_id = a.id AND b.lifted_at IS NULL AND NOT b.shadow AND b.ends_at > ?),
		(SELECT 1000 * max(u.used_at) FROM api_keys AS k JOIN key_uses AS u ON u.key_id = k.id WHERE k.account_id = a.id),
		(SELECT coalesce(sum(u.requests), 0) FROM hours AS h CROSS JOIN usage AS u WHERE u.hour = h.at AND u.account_id = a.id),
		(SELECT coalesce(sum(u.minute_refused + u.day_refused + u.ban_refused), 0) FROM hours AS h CROSS JOIN usage AS u WHERE u.hour = h.at AND u.account_id = a.id)
		FROM accounts AS a WHERE a.id = ?`
	now := Now(s.clock)
	first := now.Unix() / secondsPerHour / hoursPerDay * hoursPerDay
	args := rowsOf(ids, func(id *petcat.AccountID) []any {
		return []any{first, first + hoursPerDay - 1, now.UnixMilli(), now.UnixMilli(), (*int64)(id)}
	})
	return listEach(ctx, s, "compare accounts", func(a *petcat.AccountSummary) []any {
		return append(accountInto(&a.Account), &a.Keys, &a.Bans, (*moment)(&a.UsedAt), &a.Today, &a.Refused)
	}, query, args)
}

// RenameAccount implements [petcat.AccountStore].
func (s *Store) RenameAccount(ctx context.Context, by petcat.Actor, id petcat.AccountID, name petcat.AccountName) (petcat.Account, error) {
	return change(ctx, s, Work{Doing: "rename account"}, func(t *Tx) (petcat.Account, error) {
		a, err := t.openAccount(id)
		if err != nil || a.Name == string(name) {
			return a, err
		}
		if err := t.checkNameFree(name); err != nil {
			return petcat.Account{}, err
		}
		d := detail{"from": a.Name, "to": name}
		a.Name = string(name)
		return t.putAccount(a, by, "account.rename", d)
	})
}

// ChangeSubscription implements [petcat.AccountStore].
func (s *Store) ChangeSubscription(ctx context.Context, by petcat.Actor, id petcat.AccountID, sub petcat.Subscription) (petcat.Account, error) {
	return change(ctx, s, Work{Doing: "change subscription"}, func(t *Tx) (petcat.Account, error) { return t.subscribe(by, id, sub) })
}

func (t *Tx) subscribe(by petcat.Actor, id petcat.AccountID, sub petcat.Subscription) (petcat.Account, error) {
	a, err := t.openAccount(id)
	if err != nil || a.Plan == sub.Plan() && a.Quota == sub.Quota() {
		return a, err
	}
	was := a.Plan
	a.Plan, a.Quota = sub.Plan(), sub.Quota()
	return t.putAccount(a, by, "account.set_plan", detail{"from": was, "plan": a.Plan, "per_minute": a.Quota.PerMinute, "per_day": a.Quota.PerDay})
}

// CloseAccount implements [petcat.AccountStore].
func (s *Store) CloseAccount(ctx context.Context, by petcat.Actor, id petcat.AccountID) (petcat.Account, error) {
	const decline = `UPDATE plan_requests SET state = 'declined', decided_at = ?, decided_by = ? WHERE account_id = ? AND state = 'pending'`
	return change(ctx, s, Work{Doing: "close account"}, func(t *Tx) (petcat.Account, error) {
		a, err := accountByID(t, id)
		if err != nil || a.Closed() {
			return a, err
		}
		revoked, err := t.revokeAll(by, id, detail{"because": "account.close"})
		if err != nil {
			return a, err
		}
		if err := t.exec(decline, t.now.UnixMilli(), string(by), int64(id)); err != nil {
			return a, err
		}
		a.ClosedAt = t.now
		return t.putAccount(a, by, "account.close", detail{"revoked_keys": revoked})
	})
}
