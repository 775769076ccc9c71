package petcat

import (
	"context"
	"time"
)

// Link and session lifetimes.
const (
	// LinkLife is long enough to carry a link to a browser, and too short for it to be found
	// later in a terminal's history.
	LinkLife = 15 * time.Minute
	// SessionIdle is how long an operator's session lasts without use: it expires overnight.
	SessionIdle = 12 * time.Hour
	// SessionLife is the maximum lifetime of an operator's session.
	SessionLife = 7 * 24 * time.Hour
	// CustomerIdle is how long a customer's session lasts without use.
	CustomerIdle = 30 * 24 * time.Hour
	// CustomerLife is the maximum lifetime of a customer's session.
	CustomerLife = 90 * 24 * time.Hour
	// SessionTouch is how often the use of a session is recorded.
	SessionTouch = time.Minute
)

// ErrLinkInvalid is the error for a link that cannot be used, or no longer.
func ErrLinkInvalid() *Error {
	return Errorf(CodeNotFound, "this link is incomplete, expired or already used; ask for a new one")
}

// ErrNotSignedIn is the error for a browser without a session, or with an expired one.
func ErrNotSignedIn() *Error {
	return Errorf(CodeNotFound, "you are not signed in, or your session has expired; sign in with a new link")
}

// Realm is a set of pages with its own links and sessions.
type Realm string

// The realms.
const (
	OperatorRealm Realm = "operator" // the console
	AccountRealm  Realm = "account"  // the customer's page
)

// Subject is the operator or the account that a link signs in.
type Subject struct {
	Operator OperatorName // "" for an account
	Account  AccountID    // 0 for an operator
}

// Realm returns where links of the subject are valid.
func (s Subject) Realm() Realm {
	if s.Account != 0 {
		return AccountRealm
	}
	return OperatorRealm
}

// String returns the subject as the audit log shows it, such as "operator ada" or "acct_1".
func (s Subject) String() string {
	if s.Account != 0 {
		return s.Account.String()
	}
	return s.Operator.String()
}

// Actor returns the actor of the subject's changes: the operator, or the account's customer.
func (s Subject) Actor() Actor {
	if s.Account != 0 {
		return s.Account.Actor()
	}
	return s.Operator.Actor()
}

// Link is a one-time link that signs in a subject, without its token.
type Link struct {
	Of        Subject
	ExpiresAt time.Time
}

// Session is a browser that is signed in to a realm.
type Session struct {
	Operator  OperatorName // "" for a customer
	Role      Role         // the operator's current one
	Account   Account      // the customer's account as it is now; zero for an operator
	CreatedAt time.Time
	SeenAt    time.Time // of the last recorded request
}

// Subject returns the operator or account that is signed in.
func (s Session) Subject() Subject { return Subject{Operator: s.Operator, Account: s.Account.ID} }

// Expired reports whether the session has expired.
func (s Session) Expired(now time.Time) bool {
	life, idle := SessionLife, SessionIdle
	if s.Subject().Realm() == AccountRealm {
		life, idle = CustomerLife, CustomerIdle
	}
	return !now.Before(s.CreatedAt.Add(life)) || !now.Before(s.SeenAt.Add(idle))
}

// Stale reports whether a request at now must be recorded.
func (s Session) Stale(now time.Time) bool { return !now.Before(s.SeenAt.Add(SessionTouch)) }

// SessionStore keeps one-time links and sessions, as hashes only. They end when their operator
// is removed or their account is closed.
type SessionStore interface {
	// CreateLink creates a link for a subject, together with an audit entry. It expires [LinkLife] from
	// now. An operator's new link replaces the previous one; an account may have several. It returns an
	// [Error] with [CodeNotFound], or [CodeConflict] for a closed account.
	CreateLink(ctx context.Context, by Author, of Subject, link TokenHash) (Result[Link], error)
	// FindLink returns the subject of a link of the realm that can be used, or an [Error] with
	// [CodeNotFound].
	FindLink(ctx context.Context, realm Realm, link TokenHash) (Subject, error)
	// SignIn consumes a link of the realm and starts a session, together with an audit entry.
	// It returns an [Error] with [CodeNotFound] if the link is invalid, used or expired.
	SignIn(ctx context.Context, realm Realm, link, session TokenHash) (Session, error)
	// FindSession returns a session of the realm that has not expired, or an [Error] with
	// [CodeNotFound].
	FindSession(ctx context.Context, realm Realm, session TokenHash) (Session, error)
	// TouchSession records that a session was used now.
	TouchSession(ctx context.Context, session TokenHash) error
	// SignOut ends a session. It is a no-op without one.
	SignOut(ctx context.Context, session TokenHash) error
	// SignOutEverywhere ends all sessions and unused links of a subject, together with an audit
	// entry, and returns the number of sessions.
	SignOutEverywhere(ctx context.Context, by Author, of Subject) (ended Result[int64], err error)
}
