package store

import (
	"context"

	"petcat"
)

const operatorColumns = `name, role, created_at, link_ends_at`

func operatorInto(o *petcat.Operator) []any {
	return []any{(*string)(&o.Name), (*string)(&o.Role), (*moment)(&o.CreatedAt), (*moment)(&o.LinkEndsAt)}
}

// CreateOperator implements [petcat.OperatorStore].
func (s *Store) CreateOperator(ctx context.Context, by petcat.Actor, n petcat.NewOperator, link petcat.TokenHash) (petcat.Operator, error) {
	return change(ctx, s, "create operator", func(t *Tx) (petcat.Operator, error) { return t.createOperator(by, n, link) })
}

func (t *Tx) createOperator(by petcat.Actor, n petcat.NewOperator, link petcat.TokenHash) (petcat.Operator, error) {
	const insert = `INSERT INTO operators (name, role, created_at, link_hash, link_ends_at) VALUES (?, ?, ?, ?, ?)`
	if _, found, err := t.findOperator(n.Name()); err != nil {
		return petcat.Operator{}, err
	} else if found {
		return petcat.Operator{}, invalid("there is an operator %s already", string(n.Name()))
	}
	o := petcat.Operator{Name: n.Name(), Role: n.Role(), CreatedAt: t.now, LinkEndsAt: t.now.Add(petcat.LinkLife)}
	if err := t.exec(insert, string(o.Name), string(o.Role), o.CreatedAt.UnixMilli(), link[:], o.LinkEndsAt.UnixMilli()); err != nil {
		return petcat.Operator{}, err
	}
	return o, t.record(by, "operator.create", o.Name, detail{"role": o.Role})
}

// LinkOperator implements [petcat.OperatorStore].
func (s *Store) LinkOperator(ctx context.Context, by petcat.Actor, name petcat.OperatorName, link petcat.TokenHash) (petcat.Operator, error) {
	return change(ctx, s, "make a link", func(t *Tx) (petcat.Operator, error) { return t.linkOperator(by, name, link) })
}

func (t *Tx) linkOperator(by petcat.Actor, name petcat.OperatorName, link petcat.TokenHash) (petcat.Operator, error) {
	const update = `UPDATE operators SET link_hash = ?, link_ends_at = ? WHERE name = ?`
	o, found, err := t.findOperator(name)
	if err == nil && !found {
		err = noOperator(name)
	}
	if err != nil {
		return petcat.Operator{}, err
	}
	o.LinkEndsAt = t.now.Add(petcat.LinkLife)
	if err := t.exec(update, link[:], o.LinkEndsAt.UnixMilli(), string(name)); err != nil {
		return petcat.Operator{}, err
	}
	return o, t.record(by, "operator.link", name, nil)
}

func (t *Tx) findOperator(name petcat.OperatorName) (o petcat.Operator, found bool, err error) {
	const query = `SELECT ` + operatorColumns + ` FROM operators WHERE name = ?`
	return one(t, operatorInto, query, string(name))
}

func noOperator(name petcat.OperatorName) error {
	return notFound("there is no operator %s", string(name))
}

// EachOperator implements [petcat.OperatorStore].
func (s *Store) EachOperator(ctx context.Context, fn func(petcat.Operator) error) error {
	const query = `SELECT ` + operatorColumns + `,
			(SELECT count(*) FROM operator_sessions WHERE operator_name = name AND created_at > ? AND seen_at > ?)
		FROM operators ORDER BY name`
	into := func(o *petcat.Operator) []any { return append(operatorInto(o), &o.Sessions) }
	now := Now(s.clock)
	return each(ctx, s, "read operators", into, fn, query, now.Add(-petcat.SessionLife).UnixMilli(), now.Add(-petcat.SessionIdle).UnixMilli())
}

// RemoveOperator implements [petcat.OperatorStore].
func (s *Store) RemoveOperator(ctx context.Context, by petcat.Actor, name petcat.OperatorName) error {
	const remove = `DELETE FROM operators WHERE name = ?`
	return s.db.Change(ctx, Work{Doing: "remove operator"}, func(t *Tx) error {
		ended, err := t.endSessions(name)
		if err != nil {
			return err
		}
		if removed, err := t.Exec(remove, string(name)); err != nil {
			return err
		} else if removed == 0 {
			return noOperator(name)
		}
		return t.record(by, "operator.remove", name, detail{"sessions": ended})
	})
}
