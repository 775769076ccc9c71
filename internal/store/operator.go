package store

import (
	"cmp"
	"context"
	"time"

	"petcat"
)

const operatorColumns = `name, role, created_at, (SELECT max(l.ends_at) FROM sign_in_links AS l WHERE l.operator_name = name)`

func operatorInto(o *petcat.Operator) []any {
	return []any{(*string)(&o.Name), (*string)(&o.Role), (*moment)(&o.CreatedAt), (*moment)(&o.LinkEndsAt)}
}

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
	defer tx.Rollback()
	id, err := tx.replays(by, action)
	if err != nil {
		return r, err
	}
	found, err := one(tx, operatorInto, nil, operatorByName, string(name))
	if err != nil {
		return r, err
	}
	switch {
	case id != 0:
		return petcat.Result[petcat.Operator]{Value: found, Replayed: true}, nil
	case found.Name != "":
		return r, invalid("there is an operator %s already; choose another name, or remove that one first", string(name))
	}
	if err := tx.run(insertOperator, string(name), string(role), tx.now.UnixMilli()); err != nil {
		return r, err
	}
	r.Value = petcat.Operator{Name: name, Role: role, CreatedAt: tx.now}
	e := entry{by.Actor, action, name.String(), detail{"role": role}}
	if r.Value.LinkEndsAt, err = tx.createLink(e, petcat.Subject{Operator: name}, link); err != nil {
		return r, err
	}
	return r, tx.commitOnce(by, action, operatorID)
}

// operatorID is stored with an idempotency key, because operators have a name and no id. The
// request contains the name.
const operatorID = 1

const operatorByName = `SELECT ` + operatorColumns + ` FROM operators WHERE name = ?`

func noOperator(name petcat.OperatorName) error {
	return notFound("there is no operator %s", string(name))
}

// Operators implements [petcat.OperatorStore].
func (s *Store) Operators(ctx context.Context) ([]petcat.Operator, error) {
	const query = `SELECT ` + operatorColumns + `,
			(SELECT count(*) FROM sessions AS s WHERE s.operator_name = name AND s.created_at > ? AND s.seen_at > ?)
		FROM operators ORDER BY name`
	into := func(o *petcat.Operator) []any { return append(operatorInto(o), &o.Sessions) }
	now := Now(s.clock)
	return list(ctx, s, "read operators", into, query, now.Add(-petcat.SessionLife).UnixMilli(), now.Add(-petcat.SessionIdle).UnixMilli())
}

// RemoveOperator implements [petcat.OperatorStore].
func (s *Store) RemoveOperator(ctx context.Context, by petcat.Actor, name petcat.OperatorName) error {
	const remove = `DELETE FROM operators WHERE name = ?`
	return s.Change(ctx, "remove operator", func(t *Tx) error {
		of := petcat.Subject{Operator: name}
		ended, err := t.endSessions(of)
		if err == nil {
			err = t.dropLinks(of)
		}
		if err != nil {
			return err
		}
		if removed, err := t.Exec(remove, string(name)); err != nil || removed == 0 {
			return cmp.Or(err, noOperator(name))
		}
		return t.record(by, "operator.remove", detail{"sessions": ended}, name.String())
	})
}

const tokenColumns = `id, name, role, created_at, expires_at, revoked_at` //nolint:gosec // no token

func tokenInto(o *petcat.OperatorToken) []any {
	return []any{(*int64)(&o.ID), (*string)(&o.Name), (*string)(&o.Role), (*moment)(&o.CreatedAt), (*moment)(&o.ExpiresAt), (*moment)(&o.RevokedAt)}
}

const (
	selectTokens = `SELECT ` + tokenColumns + ` FROM operator_tokens`
	liveToken    = selectTokens + ` WHERE name = ? AND revoked_at IS NULL`
	revokeToken  = `UPDATE operator_tokens SET revoked_at = ? WHERE id = ?`
)

// CreateToken implements [petcat.OperatorTokenStore].
func (s *Store) CreateToken(ctx context.Context, by petcat.Actor, name petcat.OperatorName, role petcat.Role, expiresAt time.Time, token petcat.TokenHash) (petcat.OperatorToken, error) {
	return change(ctx, s, Work{Doing: "create token"}, func(t *Tx) (petcat.OperatorToken, error) {
		if err := petcat.CheckExpiry(expiresAt, t.now); err != nil {
			return petcat.OperatorToken{}, err
		}
		o, err := one(t, tokenInto, nil, liveToken, string(name))
		if err == nil && o.State(t.now) == petcat.KeyExpired { // its name is free
			err = t.exec(revokeToken, t.now.UnixMilli(), int64(o.ID))
		} else if err == nil && o.ID != 0 {
			err = invalid("there is a token %s already; choose another name, or revoke that one first", string(name))
		}
		if err != nil {
			return o, err
		}
		t.sequences.Token++
		o = petcat.OperatorToken{ID: petcat.OperatorTokenID(t.sequences.Token), Name: name, Role: role, CreatedAt: t.now, ExpiresAt: stored(expiresAt)}
		d := detail{"role": o.Role}
		if !o.ExpiresAt.IsZero() {
			d["expires_at"] = o.ExpiresAt
		}
		return o, t.put(entry{by, "token.create", o.String(), d}, "operator_tokens", "id", tokenColumns+", hash", append(tokenInto(&o), token[:]))
	})
}

// Tokens implements [petcat.OperatorTokenStore].
func (s *Store) Tokens(ctx context.Context) ([]petcat.OperatorToken, error) {
	return list(ctx, s, "read tokens", tokenInto, selectTokens+` ORDER BY id`)
}

// FindToken implements [petcat.OperatorTokenStore].
func (s *Store) FindToken(ctx context.Context, token petcat.TokenHash) (petcat.OperatorToken, error) {
	return read(ctx, s, "find token", func(c Conn) (petcat.OperatorToken, error) {
		return one(c, tokenInto, petcat.ErrTokenInvalid(), selectTokens+` WHERE hash = ?`, token[:])
	})
}

// RevokeToken implements [petcat.OperatorTokenStore].
func (s *Store) RevokeToken(ctx context.Context, by petcat.Actor, name petcat.OperatorName) (petcat.OperatorToken, error) {
	return change(ctx, s, Work{Doing: "revoke token"}, func(t *Tx) (petcat.OperatorToken, error) {
		o, err := one(t, tokenInto, notFound("there is no token %s that was not revoked", string(name)), liveToken, string(name))
		if err != nil {
			return o, err
		}
		o.RevokedAt = t.now
		return o, t.write(entry{by, "token.revoke", o.String(), nil}, revokeToken, t.now.UnixMilli(), int64(o.ID))
	})
}
