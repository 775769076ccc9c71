package store

import (
	"context"

	"petcat"
)

// SignIn implements [petcat.SessionStore].
func (s *Store) SignIn(ctx context.Context, link, session petcat.TokenHash) (petcat.Session, error) {
	return change(ctx, s, "sign in", func(t *Tx) (petcat.Session, error) { return t.signIn(link, session) })
}

func (t *Tx) signIn(link, session petcat.TokenHash) (petcat.Session, error) {
	const (
		query  = `SELECT ` + operatorColumns + ` FROM operators WHERE link_hash = ?`
		use    = `UPDATE operators SET link_hash = NULL, link_ends_at = NULL WHERE name = ?`
		insert = `INSERT INTO operator_sessions (hash, operator_name, created_at, seen_at) VALUES (?, ?, ?, ?)`
	)
	o, found, err := one(t, operatorInto, query, link[:])
	if err == nil && (!found || !t.now.Before(o.LinkEndsAt)) {
		err = petcat.NoSuchLink()
	}
	if err != nil {
		return petcat.Session{}, err
	}
	if err := t.exec(use, string(o.Name)); err != nil {
		return petcat.Session{}, err
	}
	if err := t.exec(insert, session[:], string(o.Name), t.now.UnixMilli(), t.now.UnixMilli()); err != nil {
		return petcat.Session{}, err
	}
	begun := petcat.Session{Operator: o.Name, Role: o.Role, CreatedAt: t.now, SeenAt: t.now}
	return begun, t.record(o.Name.Actor(), "operator.sign_in", o.Name, nil)
}

// FindSession implements [petcat.SessionStore].
func (s *Store) FindSession(ctx context.Context, session petcat.TokenHash) (petcat.Session, error) {
	const query = `SELECT o.name, o.role, s.created_at, s.seen_at
		FROM operator_sessions AS s JOIN operators AS o ON o.name = s.operator_name WHERE s.hash = ?`
	found, ok, err := find(ctx, s, "find session", sessionInto, query, session[:])
	if err == nil && (!ok || found.Ended(Now(s.clock))) {
		err = petcat.NoSession()
	}
	if err != nil {
		return petcat.Session{}, err
	}
	return found, nil
}

func sessionInto(s *petcat.Session) []any {
	return []any{(*string)(&s.Operator), (*string)(&s.Role), (*moment)(&s.CreatedAt), (*moment)(&s.SeenAt)}
}

// TouchSession implements [petcat.SessionStore].
func (s *Store) TouchSession(ctx context.Context, session petcat.TokenHash) error {
	const update = `UPDATE operator_sessions SET seen_at = ? WHERE hash = ?`
	_, err := s.db.Exec(ctx, "touch session", update, Now(s.clock).UnixMilli(), session[:])
	return err
}

// SignOut implements [petcat.SessionStore].
func (s *Store) SignOut(ctx context.Context, session petcat.TokenHash) error {
	_, err := s.db.Exec(ctx, "sign out", `DELETE FROM operator_sessions WHERE hash = ?`, session[:])
	return err
}

// SignOutEverywhere implements [petcat.SessionStore].
func (s *Store) SignOutEverywhere(ctx context.Context, by petcat.Actor, name petcat.OperatorName) (int64, error) {
	return change(ctx, s, "sign out everywhere", func(t *Tx) (int64, error) {
		ended, err := t.endSessions(name)
		if err != nil {
			return 0, err
		}
		return ended, t.record(by, "operator.sign_out", name, detail{"sessions": ended})
	})
}

// endSessions ends all sessions of an operator, and returns how many there were.
func (t *Tx) endSessions(name petcat.OperatorName) (int64, error) {
	return t.Exec(`DELETE FROM operator_sessions WHERE operator_name = ?`, string(name))
}
