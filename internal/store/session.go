package store

import (
	"context"
	"time"

	"github.com/petcat-api/petcat"
)

// CreateLink implements [petcat.SessionStore].
func (s *Store) CreateLink(
	ctx context.Context, by petcat.Author, of petcat.Subject, link petcat.TokenHash,
) (r petcat.Result[petcat.Link], err error) {
	action := string(of.Realm()) + ".link"
	tx, err := s.begin(ctx, Work{Doing: "create link"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	expires, err := tx.replays(by, action)
	if err != nil {
		return r, err
	}
	if expires != 0 {
		r.Value = petcat.Link{Of: of, ExpiresAt: time.UnixMilli(expires).UTC()}
		r.Replayed = true
		return r, tx.Commit()
	}
	if of.Realm() == petcat.AccountRealm {
		_, err = tx.openAccount(of.Account)
	} else {
		err = tx.replaceLinks(of)
	}
	if err != nil {
		return r, err
	}
	made, err := tx.insertLink(of, link)
	if err != nil {
		return r, err
	}
	if err := tx.log(by.Actor, action, of.String(), nil); err != nil {
		return r, err
	}
	// Links do not have ids. Its expiry is stored with the idempotency key, because a retry returns it.
	return petcat.Result[petcat.Link]{Value: made}, tx.commitOnce(by, action, made.ExpiresAt.UnixMilli())
}

// replaceLinks deletes the links of an operator, or returns an error if the operator does not exist.
func (t *Tx) replaceLinks(of petcat.Subject) error {
	if _, err := findOperator(t, of.Operator); err != nil {
		return err
	}
	return t.deleteLinks(of)
}

const insertLink = `INSERT INTO sign_in_links (hash, operator_name, account_id, expires_at) VALUES ($1, $2, $3, $4)`

// insertLink inserts a link of a subject that begins now.
func (t *Tx) insertLink(of petcat.Subject, link petcat.TokenHash) (petcat.Link, error) {
	made := petcat.Link{Of: of, ExpiresAt: t.now.Add(petcat.LinkLife)}
	return made, t.Run(insertLink, link[:], of.Operator, of.Account, made.ExpiresAt.UnixMilli())
}

const deleteLinks = `DELETE FROM sign_in_links WHERE operator_name = $1 AND account_id = $2`

// deleteLinks deletes all links of a subject.
func (t *Tx) deleteLinks(of petcat.Subject) error {
	return t.Run(deleteLinks, of.Operator, of.Account)
}

const (
	useLink = `
		DELETE FROM sign_in_links WHERE hash = $1 AND expires_at > $2
		RETURNING operator_name, account_id`

	insertSession = `
		INSERT INTO sessions (hash, operator_name, account_id, created_at, seen_at)
		VALUES ($1, $2, $3, $4, $4)`
)

func scanSubject(row Row) (of petcat.Subject, err error) {
	err = row.Scan(&of.Operator, &of.Account)
	return of, err
}

// SignIn implements [petcat.SessionStore].
func (s *Store) SignIn(
	ctx context.Context, realm petcat.Realm, link, session petcat.TokenHash,
) (_ petcat.Session, err error) {
	// It does not take a lock: any client can send a link, and only a valid one may delay other writes.
	if _, err := s.FindLink(ctx, realm, link); err != nil {
		return petcat.Session{}, err
	}
	tx, err := s.begin(ctx, Work{Doing: "sign in"})
	if err != nil {
		return petcat.Session{}, err
	}
	defer tx.End(&err) // a link of the other realm stays
	now := tx.now.UnixMilli()
	of, err := queryRow(tx, scanSubject, petcat.ErrLinkInvalid(), useLink, link[:], now)
	if err != nil {
		return petcat.Session{}, err
	}
	if err := tx.Run(insertSession, session[:], of.Operator, of.Account, now); err != nil {
		return petcat.Session{}, err
	}
	found, err := findSession(tx, realm, session, tx.now, petcat.ErrLinkInvalid())
	if err != nil {
		return petcat.Session{}, err
	}
	if err := tx.log(of.Actor(), string(realm)+".sign_in", of.String(), nil); err != nil {
		return petcat.Session{}, err
	}
	if err := tx.Commit(); err != nil {
		return petcat.Session{}, err
	}
	return found, nil
}

const selectSession = `
	SELECT s.operator_name, coalesce(o.role, ''), s.account_id, s.created_at, s.seen_at
	FROM sessions AS s LEFT JOIN operators AS o ON o.name = s.operator_name
	WHERE s.hash = $1`

func scanSession(row Row) (s petcat.Session, err error) {
	err = row.Scan(
		&s.Operator,
		&s.Role,
		&s.Account.ID,
		(*moment)(&s.CreatedAt),
		(*moment)(&s.SeenAt),
	)
	return s, err
}

const selectLink = `SELECT operator_name, account_id FROM sign_in_links WHERE hash = $1 AND expires_at > $2`

// FindLink implements [petcat.SessionStore].
func (s *Store) FindLink(ctx context.Context, realm petcat.Realm, link petcat.TokenHash) (petcat.Subject, error) {
	now := Now(s.clock).UnixMilli()
	of, err := queryRow(s.reader(ctx, "find link"), scanSubject, petcat.ErrLinkInvalid(), selectLink, link[:], now)
	if err == nil && of.Realm() != realm {
		err = petcat.ErrLinkInvalid()
	}
	return of, err
}

// FindSession implements [petcat.SessionStore].
func (s *Store) FindSession(ctx context.Context, realm petcat.Realm, session petcat.TokenHash) (petcat.Session, error) {
	return findSession(s.reader(ctx, "find session"), realm, session, Now(s.clock), petcat.ErrNotSignedIn())
}

// findSession returns a session of a realm with its operator or account, or the error missing.
func findSession(
	q Querier, realm petcat.Realm, session petcat.TokenHash, now time.Time, missing error,
) (petcat.Session, error) {
	s, err := queryRow(q, scanSession, missing, selectSession, session[:])
	if err != nil {
		return petcat.Session{}, err
	}
	if s.Account.ID != 0 {
		s.Account, err = findAccount(q, s.Account.ID)
		if err != nil {
			return petcat.Session{}, err
		}
	}
	if s.Subject().Realm() != realm || s.Expired(now) || s.Account.Closed() {
		return petcat.Session{}, missing
	}
	return s, nil
}

const touchSession = `UPDATE sessions SET seen_at = $1 WHERE hash = $2`

// TouchSession implements [petcat.SessionStore].
func (s *Store) TouchSession(ctx context.Context, session petcat.TokenHash) error {
	return s.exec(ctx, "touch session", touchSession, Now(s.clock).UnixMilli(), session[:])
}

const deleteSession = `DELETE FROM sessions WHERE hash = $1`

// SignOut implements [petcat.SessionStore].
func (s *Store) SignOut(ctx context.Context, session petcat.TokenHash) error {
	return s.exec(ctx, "sign out", deleteSession, session[:])
}

// SignOutEverywhere implements [petcat.SessionStore].
func (s *Store) SignOutEverywhere(
	ctx context.Context, by petcat.Author, of petcat.Subject,
) (ended petcat.Result[int64], err error) {
	action := string(of.Realm()) + ".sign_out"
	tx, err := s.begin(ctx, Work{Doing: "sign out everywhere"})
	if err != nil {
		return ended, err
	}
	defer tx.End(&err)
	replayed, err := tx.replays(by, action)
	if err != nil {
		return ended, err
	}
	if replayed != 0 {
		return petcat.Result[int64]{Value: replayed - 1, Replayed: true}, tx.Commit()
	}
	links, err := tx.Exec(deleteLinks, of.Operator, of.Account)
	if err != nil {
		return ended, err
	}
	ended.Value, err = tx.endSessions(of)
	if err != nil {
		return ended, err
	}
	if links+ended.Value > 0 { // else many requests of one session would each write an entry
		if err := tx.log(by.Actor, action, of.String(), detail{"sessions": ended.Value}); err != nil {
			return ended, err
		}
	}
	// Signing out does not have a resource. Instead of an id, the number of sessions is stored with the
	// idempotency key, plus 1, because 0 means none.
	return ended, tx.commitOnce(by, action, ended.Value+1)
}

const deleteSessions = `DELETE FROM sessions WHERE operator_name = $1 AND account_id = $2`

// endSessions ends all sessions of a subject, and returns their number.
func (t *Tx) endSessions(of petcat.Subject) (int64, error) {
	return t.Exec(deleteSessions, of.Operator, of.Account)
}
