package store

import (
	"context"
	"strconv"
	"strings"

	"github.com/petcat-api/petcat"
)

// accountColumns are the columns that scanAccount reads.
const accountColumns = `id, name, plan, per_minute, per_day, max_categories, max_bytes, created_at, closed_at, external_id`

func scanAccount(row Row) (a petcat.Account, err error) {
	err = row.Scan(accountFields(&a)...)
	return a, err
}

// accountFields returns the destinations of accountColumns.
func accountFields(a *petcat.Account) []any {
	return []any{
		&a.ID,
		&a.Name,
		&a.Plan,
		&a.Quota.PerMinute,
		&a.Quota.PerDay,
		&a.Storage.Categories,
		&a.Storage.Bytes,
		(*moment)(&a.CreatedAt),
		(*moment)(&a.ClosedAt),
		&a.ExternalID,
	}
}

const selectAccount = `SELECT ` + accountColumns + ` FROM accounts WHERE id = $1`

func findAccount(q Querier, id petcat.AccountID) (petcat.Account, error) {
	return queryRow(q, scanAccount, noAccount(id.String()), selectAccount, id)
}

// selectAccountByName finds open accounts first (false sorts before true), then the newest.
const selectAccountByName = `
	SELECT ` + accountColumns + ` FROM accounts
	WHERE name = $1
	ORDER BY closed_at IS NOT NULL, id DESC LIMIT 1`

// FindAccount implements [petcat.AccountStore].
func (s *Store) FindAccount(ctx context.Context, ref string) (petcat.Account, error) {
	c := s.reader(ctx, "find account")
	if id, isID := petcat.ParseAccountRef(ref); isID {
		return findAccount(c, id)
	}
	return queryRow(c, scanAccount, noAccount(ref), selectAccountByName, petcat.NormalizeName(ref))
}

func noAccount(ref string) error {
	if n, err := strconv.ParseInt(ref, 10, 64); err == nil { // a name may be a number
		return notFound("there is no account named %q; if that is an id, write %s", ref, petcat.AccountID(n))
	}
	return notFound("there is no account %q", ref)
}

// openAccount returns an account, or an error if it is closed.
func (t *Tx) openAccount(id petcat.AccountID) (petcat.Account, error) {
	a, err := findAccount(t, id)
	if err != nil {
		return a, err
	}
	if a.Closed() {
		return a, conflict("the account %s is closed, which is permanent; create a new one instead", id)
	}
	return a, nil
}

// EachAccount implements [petcat.AccountStore].
func (s *Store) EachAccount(ctx context.Context, fn func(petcat.Account) error) error {
	const query = `SELECT ` + accountColumns + ` FROM accounts ORDER BY id`
	return eachRow(ctx, s, "read accounts", scanAccount, fn, query)
}

// lastCharacter is the largest code point. A prefix with it appended sorts after all names with
// that prefix.
const lastCharacter = "\U0010FFFF"

// accountFilter returns the conditions of a query.
func accountFilter(q petcat.AccountQuery) *filter {
	f := &filter{}
	if q.Plan != "" {
		f.and(`plan = ` + f.arg(q.Plan))
	}
	if q.ExternalID != "" {
		f.and(`external_id = ` + f.arg(q.ExternalID))
	}
	if q.After.ID != 0 {
		// Not (lower(name), id) > ($1, $2): SQLite cannot use an index on an expression for that.
		after := f.arg(asciiLower(q.After.Name))
		f.and(`lower(name) >= ` + after)
		f.and(`(lower(name) > ` + after + ` OR id > ` + f.arg(q.After.ID) + `)`)
	}
	if q.Prefix != "" {
		prefix := asciiLower(petcat.NormalizeName(q.Prefix))
		f.and(`lower(name) >= ` + f.arg(prefix))
		f.and(`lower(name) < ` + f.arg(prefix+lastCharacter))
	}
	return f
}

// AccountPage implements [petcat.AccountStore].
func (s *Store) AccountPage(ctx context.Context, q petcat.AccountQuery) ([]petcat.Account, error) {
	f := accountFilter(q)
	query := `SELECT ` + accountColumns + ` FROM accounts` + f.where() + ` ORDER BY lower(name), id`
	if q.Limit != 0 {
		query += ` LIMIT ` + f.arg(q.Limit)
	}
	return queryRows(s.reader(ctx, "read a page of accounts"), scanAccount, query, f.args...)
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

// selectAccountSummary compares the hours from $1 to $2 of the account $4, at the time $3.
const selectAccountSummary = `
	WITH RECURSIVE hours (at) AS (SELECT CAST($1 AS bigint) UNION ALL SELECT at + 1 FROM hours WHERE at < $2)
	SELECT ` + accountColumns + `,
		(SELECT count(*) FROM api_keys AS k
			WHERE k.account_id = a.id AND k.revoked_at IS NULL AND k.disabled_at IS NULL
				AND (k.expires_at IS NULL OR k.expires_at > $3)),
		(SELECT count(*) FROM api_keys AS k JOIN bans AS b ON b.key_id = k.id
			WHERE k.account_id = a.id AND b.lifted_at IS NULL AND NOT b.shadow AND b.ends_at > $3),
		(SELECT 1000 * max(u.used_at) FROM api_keys AS k JOIN key_uses AS u ON u.key_id = k.id
			WHERE k.account_id = a.id),
		(SELECT coalesce(sum(u.requests), 0) FROM hours AS h CROSS JOIN usage AS u
			WHERE u.hour = h.at AND u.account_id = a.id),
		(SELECT coalesce(sum(u.minute_rejected + u.day_rejected + u.ban_rejected), 0)
			FROM hours AS h CROSS JOIN usage AS u
			WHERE u.hour = h.at AND u.account_id = a.id)
	FROM accounts AS a WHERE a.id = $4`

func scanAccountSummary(row Row) (a petcat.AccountSummary, err error) {
	fields := append(accountFields(&a.Account),
		&a.Keys,
		&a.Bans,
		(*moment)(&a.UsedAt),
		&a.Today,
		&a.Rejected,
	)
	err = row.Scan(fields...)
	return a, err
}

// AccountSummaries implements [petcat.AccountStore].
func (s *Store) AccountSummaries(ctx context.Context, ids []petcat.AccountID) ([]petcat.AccountSummary, error) {
	now := Now(s.clock)
	first := now.Unix() / secondsPerHour / hoursPerDay * hoursPerDay
	args := make([][]any, len(ids))
	for i, id := range ids {
		args[i] = []any{first, first + hoursPerDay - 1, now.UnixMilli(), id}
	}
	return queryEach(s.reader(ctx, "compare accounts"), scanAccountSummary, selectAccountSummary, args)
}

// CreateAccount implements [petcat.AccountStore].
func (s *Store) CreateAccount(
	ctx context.Context, by petcat.Author, n petcat.NewAccount,
) (r petcat.Result[petcat.Account], err error) {
	const action = "account.create"
	tx, err := s.begin(ctx, Work{Doing: "create account"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findAccount)
	}
	a, err := tx.CreateAccount(by.Actor, n)
	if err != nil {
		return r, err
	}
	return petcat.Result[petcat.Account]{Value: a}, tx.commitOnce(by, action, int64(a.ID))
}

const insertAccount = `
	INSERT INTO accounts (
		id, name, plan, per_minute, per_day, max_categories, max_bytes, external_id, created_at, closed_at,
		revision)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL, $10)`

// CreateAccount is [Store.CreateAccount] within a transaction.
func (t *Tx) CreateAccount(by petcat.Actor, n petcat.NewAccount) (petcat.Account, error) {
	if err := t.checkNameFree(n.Name); err != nil {
		return petcat.Account{}, err
	}
	if err := t.checkExternalIDFree(n.ExternalID); err != nil {
		return petcat.Account{}, err
	}
	t.sequences.Account++
	a := petcat.Account{
		ID:         petcat.AccountID(t.sequences.Account),
		Name:       string(n.Name),
		Plan:       n.Subscription.Plan(),
		Quota:      n.Subscription.Quota(),
		Storage:    n.Subscription.Storage(),
		ExternalID: n.ExternalID,
		CreatedAt:  t.now,
	}
	err := t.Run(insertAccount,
		a.ID,
		a.Name,
		a.Plan,
		a.Quota.PerMinute,
		a.Quota.PerDay,
		a.Storage.Categories,
		a.Storage.Bytes,
		a.ExternalID,
		a.CreatedAt.UnixMilli(),
		t.reviseAccess(),
	)
	if err != nil {
		return petcat.Account{}, err
	}
	d := planDetail(a)
	d["name"] = a.Name
	if a.ExternalID != "" {
		d["external_id"] = a.ExternalID
	}
	return a, t.log(by, "account.create", a.ID.String(), d)
}

// planDetail returns the plan of an account and its numbers for an audit entry.
func planDetail(a petcat.Account) detail {
	return detail{
		"plan":           a.Plan,
		"per_minute":     a.Quota.PerMinute,
		"per_day":        a.Quota.PerDay,
		"max_categories": a.Storage.Categories,
		"max_bytes":      a.Storage.Bytes,
	}
}

const selectOpenAccountByName = `SELECT id FROM accounts WHERE name = $1 AND closed_at IS NULL`

// checkNameFree returns an error if an open account has the name.
func (t *Tx) checkNameFree(name petcat.AccountName) error {
	id, err := queryRow(t, scanNumber, nil, selectOpenAccountByName, name)
	if err != nil {
		return err
	}
	if id != 0 {
		taken := conflict("there is an account named %q already; choose another name, or close that one first", name)
		return taken.In("name")
	}
	return nil
}

const selectOpenAccountByExternalID = `SELECT id FROM accounts WHERE external_id = $1 AND closed_at IS NULL`

// checkExternalIDFree returns an error if an open account has the external id.
func (t *Tx) checkExternalIDFree(external petcat.ExternalID) error {
	if external == "" {
		return nil
	}
	id, err := queryRow(t, scanNumber, nil, selectOpenAccountByExternalID, external)
	if err != nil {
		return err
	}
	if id != 0 {
		taken := conflict("the account %s has the external id %q already; choose another one, or close that account first",
			petcat.AccountID(id), external)
		return taken.In("external_id")
	}
	return nil
}

const updateAccount = `
	UPDATE accounts
	SET name = $1, plan = $2, per_minute = $3, per_day = $4, max_categories = $5, max_bytes = $6,
		external_id = $7, closed_at = $8, revision = $9
	WHERE id = $10`

// updateAccount writes a changed account.
func (t *Tx) updateAccount(a petcat.Account) error {
	return t.Run(updateAccount,
		a.Name,
		a.Plan,
		a.Quota.PerMinute,
		a.Quota.PerDay,
		a.Storage.Categories,
		a.Storage.Bytes,
		a.ExternalID,
		millis(a.ClosedAt),
		t.reviseAccess(),
		a.ID,
	)
}

// EditAccount implements [petcat.AccountStore].
func (s *Store) EditAccount(
	ctx context.Context, by petcat.Author, id petcat.AccountID, e petcat.AccountEdit,
) (r petcat.Result[petcat.Account], err error) {
	const action = "account.edit"
	tx, err := s.begin(ctx, Work{Doing: "edit account"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findAccount)
	}
	a, err := tx.editAccount(by.Actor, id, e)
	if err != nil {
		return r, err
	}
	return petcat.Result[petcat.Account]{Value: a}, tx.commitOnce(by, action, int64(id))
}

// editAccount changes an account, with an audit entry for each of name, external id and plan.
func (t *Tx) editAccount(by petcat.Actor, id petcat.AccountID, e petcat.AccountEdit) (petcat.Account, error) {
	before, err := t.openAccount(id)
	if err != nil {
		return before, err
	}
	a, err := e.Apply(before)
	if err != nil || a == before {
		return a, err
	}
	if a.Name != before.Name {
		if err := t.checkNameFree(petcat.AccountName(a.Name)); err != nil {
			return before, err
		}
		if err := t.log(by, "account.rename", id.String(), detail{"from": before.Name, "to": a.Name}); err != nil {
			return before, err
		}
	}
	if a.ExternalID != before.ExternalID {
		if err := t.checkExternalIDFree(a.ExternalID); err != nil {
			return before, err
		}
		d := detail{"from": before.ExternalID, "to": a.ExternalID}
		if err := t.log(by, "account.set_external_id", id.String(), d); err != nil {
			return before, err
		}
	}
	if a.Plan != before.Plan || a.Quota != before.Quota || a.Storage != before.Storage {
		d := planDetail(a)
		d["from"] = before.Plan
		if err := t.log(by, "account.set_plan", id.String(), d); err != nil {
			return before, err
		}
		d["account"] = id.String()
		if err := t.emit(petcat.EventPlanChanged, d, nil); err != nil {
			return before, err
		}
	}
	return a, t.updateAccount(a)
}

// CloseAccount implements [petcat.AccountStore].
func (s *Store) CloseAccount(
	ctx context.Context, by petcat.Author, id petcat.AccountID,
) (r petcat.Result[petcat.Account], err error) {
	const action = "account.close"
	tx, err := s.begin(ctx, Work{Doing: "close account"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findAccount)
	}
	a, err := findAccount(tx, id)
	if err != nil {
		return r, err
	}
	if a.Closed() {
		return petcat.Result[petcat.Account]{Value: a}, tx.commitOnce(by, action, int64(id))
	}
	revoked, err := tx.revokeKeys(by.Actor, id, detail{"because": action})
	if err != nil {
		return r, err
	}
	pending, err := pendingPlanRequest(tx, id)
	if err != nil {
		return r, err
	}
	if pending.ID != 0 {
		if _, err := tx.decide(by.Actor, pending, petcat.PlanRequestDeclined); err != nil {
			return r, err
		}
	}
	a.ClosedAt = tx.now
	if err := tx.updateAccount(a); err != nil {
		return r, err
	}
	if err := tx.log(by.Actor, action, id.String(), detail{"revoked_keys": revoked}); err != nil {
		return r, err
	}
	return petcat.Result[petcat.Account]{Value: a}, tx.commitOnce(by, action, int64(id))
}
