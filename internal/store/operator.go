package store

import (
	"context"

	"github.com/petcat-api/petcat"
)

// operatorColumns are the columns that scanOperator reads.
const operatorColumns = `
	name, role, created_at,
	(SELECT max(l.expires_at) FROM sign_in_links AS l WHERE l.operator_name = name)`

func scanOperator(row Row) (o petcat.Operator, err error) {
	err = row.Scan(operatorFields(&o)...)
	return o, err
}

// operatorFields returns the destinations of operatorColumns.
func operatorFields(o *petcat.Operator) []any {
	return []any{
		&o.Name,
		&o.Role,
		(*moment)(&o.CreatedAt),
		(*moment)(&o.LinkExpiresAt),
	}
}

const selectOperator = `SELECT ` + operatorColumns + ` FROM operators WHERE name = $1`

func findOperator(q Querier, name petcat.OperatorName) (petcat.Operator, error) {
	return queryRow(q, scanOperator, noOperator(name), selectOperator, name)
}

func noOperator(name petcat.OperatorName) error {
	return notFound("there is no operator %s", string(name))
}

// selectOperators counts the sessions that were created after $1 and used after $2.
const selectOperators = `
	SELECT ` + operatorColumns + `,
		(SELECT count(*) FROM sessions AS s
			WHERE s.operator_name = name AND s.created_at > $1 AND s.seen_at > $2)
	FROM operators ORDER BY name`

func scanOperatorWithSessions(row Row) (o petcat.Operator, err error) {
	fields := append(operatorFields(&o), &o.Sessions)
	err = row.Scan(fields...)
	return o, err
}

// Operators implements [petcat.OperatorStore].
func (s *Store) Operators(ctx context.Context) ([]petcat.Operator, error) {
	now := Now(s.clock)
	created := now.Add(-petcat.SessionLife).UnixMilli()
	seen := now.Add(-petcat.SessionIdle).UnixMilli()
	return queryRows(s.reader(ctx, "read operators"), scanOperatorWithSessions, selectOperators, created, seen)
}

// operatorID is stored with an idempotency key, because operators have a name and no id. The
// request contains the name.
const operatorID = 1

const insertOperator = `INSERT INTO operators (name, role, created_at) VALUES ($1, $2, $3)`

// CreateOperator implements [petcat.OperatorStore].
func (s *Store) CreateOperator(
	ctx context.Context, by petcat.Author, name petcat.OperatorName, role petcat.Role, link petcat.TokenHash,
) (r petcat.Result[petcat.Operator], err error) {
	const action = "operator.create"
	tx, err := s.begin(ctx, Work{Doing: "create operator"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	id, err := tx.replays(by, action)
	if err != nil {
		return r, err
	}
	if id != 0 {
		r.Replayed = true
		if r.Value, err = findOperator(tx, name); err != nil {
			return r, err
		}
		return r, tx.Commit()
	}
	if err := tx.checkOperatorNameFree(name); err != nil {
		return r, err
	}
	if err := tx.Run(insertOperator, name, role, tx.now.UnixMilli()); err != nil {
		return r, err
	}
	var made petcat.Link
	if link != (petcat.TokenHash{}) {
		if made, err = tx.insertLink(petcat.Subject{Operator: name}, link); err != nil {
			return r, err
		}
	}
	if err := tx.log(by.Actor, action, name.String(), detail{"role": role}); err != nil {
		return r, err
	}
	r.Value = petcat.Operator{
		Name:          name,
		Role:          role,
		CreatedAt:     tx.now,
		LinkExpiresAt: made.ExpiresAt,
	}
	return r, tx.commitOnce(by, action, operatorID)
}

const countOperators = `SELECT count(*) FROM operators WHERE name = $1`

// checkOperatorNameFree returns an error if an operator has the name.
func (t *Tx) checkOperatorNameFree(name petcat.OperatorName) error {
	n, err := queryRow(t, scanNumber, nil, countOperators, name)
	if err != nil {
		return err
	}
	if n != 0 {
		return conflict("there is an operator %s already; choose another name, or remove that one first", string(name))
	}
	return nil
}

const deleteOperator = `DELETE FROM operators WHERE name = $1`

// RemoveOperator implements [petcat.OperatorStore].
func (s *Store) RemoveOperator(
	ctx context.Context, by petcat.Author, name petcat.OperatorName,
) (r petcat.Result[petcat.OperatorName], err error) {
	const action = "operator.remove"
	tx, err := s.begin(ctx, Work{Doing: "remove operator"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	id, err := tx.replays(by, action)
	if err != nil {
		return r, err
	}
	if id != 0 {
		return petcat.Result[petcat.OperatorName]{Value: name, Replayed: true}, tx.Commit()
	}
	removed, err := tx.Exec(deleteOperator, name)
	if err != nil {
		return r, err
	}
	if removed == 0 {
		return r, noOperator(name)
	}
	of := petcat.Subject{Operator: name}
	if err := tx.deleteLinks(of); err != nil {
		return r, err
	}
	ended, err := tx.endSessions(of)
	if err != nil {
		return r, err
	}
	if err := tx.log(by.Actor, action, name.String(), detail{"sessions": ended}); err != nil {
		return r, err
	}
	return petcat.Result[petcat.OperatorName]{Value: name}, tx.commitOnce(by, action, operatorID)
}

// tokenColumns are the columns that scanToken reads.
const tokenColumns = `id, name, role, hint, created_at, expires_at, revoked_at, used_at`

func scanToken(row Row) (o petcat.OperatorToken, err error) {
	err = row.Scan(
		&o.ID,
		&o.Name,
		&o.Role,
		&o.Hint,
		(*moment)(&o.CreatedAt),
		(*moment)(&o.ExpiresAt),
		(*moment)(&o.RevokedAt),
		(*moment)(&o.UsedAt),
	)
	return o, err
}

const selectToken = `SELECT ` + tokenColumns + ` FROM operator_tokens WHERE id = $1`

func findToken(q Querier, id petcat.OperatorTokenID) (petcat.OperatorToken, error) {
	return queryRow(q, scanToken, notFound("there is no token %d", id), selectToken, id)
}

const selectTokens = `SELECT ` + tokenColumns + ` FROM operator_tokens ORDER BY id`

// Tokens implements [petcat.OperatorTokenStore].
func (s *Store) Tokens(ctx context.Context) ([]petcat.OperatorToken, error) {
	return queryRows(s.reader(ctx, "read tokens"), scanToken, selectTokens)
}

const selectTokenByHash = `SELECT ` + tokenColumns + ` FROM operator_tokens WHERE hash = $1`

// FindToken implements [petcat.OperatorTokenStore].
func (s *Store) FindToken(ctx context.Context, token petcat.TokenHash) (petcat.OperatorToken, error) {
	return queryRow(s.reader(ctx, "find token"), scanToken, petcat.ErrTokenInvalid(), selectTokenByHash, token[:])
}

// FindTokens implements [petcat.OperatorTokenStore].
func (s *Store) FindTokens(ctx context.Context, tokens []petcat.TokenHash) ([]petcat.OperatorToken, error) {
	args := make([][]any, len(tokens))
	for i, h := range tokens {
		args[i] = []any{h[:]}
	}
	return queryEach(s.reader(ctx, "find tokens by their hashes"), scanToken, selectTokenByHash, args)
}

const touchToken = `UPDATE operator_tokens SET used_at = $1 WHERE id = $2`

// TouchToken implements [petcat.OperatorTokenStore].
func (s *Store) TouchToken(ctx context.Context, id petcat.OperatorTokenID) error {
	return s.exec(ctx, "touch token", touchToken, Now(s.clock).UnixMilli(), id)
}

const selectLiveToken = `SELECT ` + tokenColumns + ` FROM operator_tokens WHERE name = $1 AND revoked_at IS NULL`

// liveToken returns the token with a name that was not revoked, or the error missing.
func liveToken(q Querier, name petcat.OperatorName, missing error) (petcat.OperatorToken, error) {
	return queryRow(q, scanToken, missing, selectLiveToken, name)
}

const insertToken = `
	INSERT INTO operator_tokens (id, hash, name, role, hint, created_at, expires_at, revoked_at, used_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, NULL)`

// CreateToken implements [petcat.OperatorTokenStore].
func (s *Store) CreateToken(
	ctx context.Context, by petcat.Author, n petcat.NewToken,
) (r petcat.Result[petcat.OperatorToken], err error) {
	const action = "token.create"
	tx, err := s.begin(ctx, Work{Doing: "create token"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findToken)
	}
	if err := petcat.CheckExpiry(n.ExpiresAt, tx.now); err != nil {
		return r, err
	}
	if err := tx.freeTokenName(n.Name); err != nil {
		return r, err
	}
	tx.sequences.Token++
	o := petcat.OperatorToken{
		ID:        petcat.OperatorTokenID(tx.sequences.Token),
		Name:      n.Name,
		Role:      n.Role,
		Hint:      n.Hint,
		CreatedAt: tx.now,
		ExpiresAt: stored(n.ExpiresAt),
	}
	err = tx.Run(insertToken,
		o.ID,
		n.Hash[:],
		o.Name,
		o.Role,
		o.Hint,
		o.CreatedAt.UnixMilli(),
		millis(o.ExpiresAt),
	)
	if err != nil {
		return r, err
	}
	d := detail{"role": o.Role}
	if !o.ExpiresAt.IsZero() {
		d["expires_at"] = o.ExpiresAt
	}
	if err := tx.log(by.Actor, action, o.String(), d); err != nil {
		return r, err
	}
	return petcat.Result[petcat.OperatorToken]{Value: o}, tx.commitOnce(by, action, int64(o.ID))
}

const revokeToken = `UPDATE operator_tokens SET revoked_at = $1 WHERE id = $2`

// freeTokenName revokes an expired token with the name. It returns an error if an active one has it.
func (t *Tx) freeTokenName(name petcat.OperatorName) error {
	o, err := liveToken(t, name, nil)
	if err != nil || o.ID == 0 {
		return err
	}
	if o.State(t.now) != petcat.KeyExpired {
		return conflict("there is a token %s already; choose another name, or revoke that one first", string(name))
	}
	return t.Run(revokeToken, t.now.UnixMilli(), o.ID)
}

// RevokeToken implements [petcat.OperatorTokenStore].
func (s *Store) RevokeToken(
	ctx context.Context, by petcat.Author, name petcat.OperatorName,
) (r petcat.Result[petcat.OperatorToken], err error) {
	const action = "token.revoke"
	tx, err := s.begin(ctx, Work{Doing: "revoke token"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	if id, err := tx.replays(by, action); id != 0 || err != nil {
		return replayed(tx, id, err, findToken)
	}
	o, err := liveToken(tx, name, notFound("there is no token %s that was not revoked", string(name)))
	if err != nil {
		return r, err
	}
	o.RevokedAt = tx.now
	if err := tx.Run(revokeToken, o.RevokedAt.UnixMilli(), o.ID); err != nil {
		return r, err
	}
	if err := tx.log(by.Actor, action, o.String(), nil); err != nil {
		return r, err
	}
	return petcat.Result[petcat.OperatorToken]{Value: o}, tx.commitOnce(by, action, int64(o.ID))
}
