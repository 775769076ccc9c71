package store

import (
	"context"
	"time"

	"petcat"
)

// CreateLink implements [petcat.SessionStore].
func (s *Store) CreateLink(ctx context.Context, by petcat.Actor, of petcat.Subject, link petcat.TokenHash) (time.Time, error) {
	return change(ctx, s, Work{Doing: "create link"}, func(t *Tx) (time.Time, error) {
		var err error
		if of.Realm() == petcat.AccountRealm {
			_, err = t.openAccount(of.Account)
		} else if _, err = one(t, operatorInto, noOperator(of.Operator), operatorByName, string(of.Operator)); err == nil {
			err = t.dropLinks(of)
		}
		if err != nil {
			return time.Time{}, err
		}
		return t.createLink(entry{by, string(of.Realm()) + ".link", of.String(), nil}, of, link)
	})
}

// createLink inserts a link, appends the audit entry e, and returns the link's expiry.
func (t *Tx) createLink(e entry, of petcat.Subject, link petcat.TokenHash) (time.Time, error) {
	const insert = `INSERT INTO sign_in_links (hash, operator_name, account_id, ends_at) VALUES (?, ?, ?, ?)`
	endsAt := t.now.Add(petcat.LinkLife)
	return endsAt, t.write(e, insert, link[:], string(of.Operator), int64(of.Account), endsAt.UnixMilli())
}

// dropLinks deletes all links of a subject.
func (t *Tx) dropLinks(of petcat.Subject) error {
	return t.exec(`DELETE FROM sign_in_links WHERE operator_name = ? AND account_id = ?`, string(of.Operator), int64(of.Account))
}

// SignIn implements [petcat.SessionStore].
func (s *Store) SignIn(ctx context.Context, realm petcat.Realm, link, session petcat.TokenHash) (petcat.Session, error) {
	const (
		use    = `DELETE FROM sign_in_links WHERE hash = ? AND ends_at > ? RETURNING operator_name, account_id`
		insert = `INSERT INTO sessions (hash, operator_name, account_id, created_at, seen_at) VALUES (?, ?, ?, ?, ?)`
	)
	into := func(of *petcat.Subject) []any { return []any{(*string)(&of.Operator), (*int64)(&of.Account)} }
	if err := s.checkLink(ctx, link); err != nil {
		return petcat.Session{}, err
	}
	return change(ctx, s, Work{Doing: "sign in"}, func(t *Tx) (found petcat.Session, err error) {
		of, err := one(t, into, petcat.ErrLinkInvalid(), use, link[:], t.now.UnixMilli())
		if err == nil {
			err = t.write(entry{of.Actor(), string(realm) + ".sign_in", of.String(), nil},
				insert, session[:], string(of.Operator), int64(of.Account), t.now.UnixMilli(), t.now.UnixMilli())
		}
		if err == nil { // a link of the other realm stays: an error undoes all of this
			found, err = findSession(t, realm, session, t.now, petcat.ErrLinkInvalid())
		}
		return found, err
	})
}

const countLinks = `SELECT count(*) FROM sign_in_links WHERE hash = $1 AND ends_at > $2`

// checkLink returns an error if there is no such link. It takes no lock: anybody can send a link, and
// only a valid one may delay other writes.
func (s *Store) checkLink(ctx context.Context, link petcat.TokenHash) error {
	n, err := queryRow(s.reader(ctx, "find link"), scanNumber, nil, countLinks, link[:], Now(s.clock).UnixMilli())
	if err == nil && n == 0 {
		return petcat.ErrLinkInvalid()
	}
	return err
}

// FindSession implements [petcat.SessionStore].
func (s *Store) FindSession(ctx context.Context, realm petcat.Realm, session petcat.TokenHash) (petcat.Session, error) {
	return read(ctx, s, "find session", func(c Conn) (petcat.Session, error) {
		return findSession(c, realm, session, Now(s.clock), petcat.ErrNotSignedIn())
	})
}

// findSession returns a session with its operator or account, or the error missing.
func findSession(c Conn, realm petcat.Realm, session petcat.TokenHash, now time.Time, missing error) (petcat.Session, error) {
	const query = `SELECT s.operator_name, coalesce(o.role, ''), s.account_id, s.created_at, s.seen_at
		FROM sessions AS s LEFT JOIN operators AS o ON o.name = s.operator_name WHERE s.hash = ?`
	into := func(s *petcat.Session) []any {
		return []any{(*string)(&s.Operator), (*string)(&s.Role), (*int64)(&s.Account.ID), (*moment)(&s.CreatedAt), (*moment)(&s.SeenAt)}
	}
	found, err := one(c, into, missing, query, session[:])
	if err == nil && found.Account.ID != 0 {
		found.Account, err = findAccount(c, found.Account.ID)
	}
	if err == nil && (found.Subject().Realm() != realm || found.Ended(now) || found.Account.Closed()) {
		err = missing
	}
	return found, err
}

// TouchSession implements [petcat.SessionStore].
func (s *Store) TouchSession(ctx context.Context, session petcat.TokenHash) error {
	return s.exec(ctx, "touch session", `UPDATE sessions SET seen_at = ? WHERE hash = ?`, Now(s.clock).UnixMilli(), session[:])
}

// SignOut implements [petcat.SessionStore].
func (s *Store) SignOut(ctx context.Context, session petcat.TokenHash) error {
	return s.exec(ctx, "sign out", `DELETE FROM sessions WHERE hash = ?`, session[:])
}

// SignOutEverywhere implements [petcat.SessionStore].
func (s *Store) SignOutEverywhere(ctx context.Context, by petcat.Actor, of petcat.Subject) (int64, error) {
	return change(ctx, s, Work{Doing: "sign out everywhere"}, func(t *Tx) (int64, error) {
		ended, err := t.endSessions(of)
		if err != nil {
			return 0, err
		}
		return ended, t.record(by, string(of.Realm())+".sign_out", detail{"sessions": ended}, of.String())
	})
}

// endSessions ends all sessions of a subject, and returns their number.
func (t *Tx) endSessions(of petcat.Subject) (int64, error) {
	return t.Exec(`DELETE FROM sessions WHERE operator_name = ? AND account_id = ?`, string(of.Operator), int64(of.Account))
}
