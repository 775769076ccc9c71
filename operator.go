package petcat

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"strings"
	"time"
)

// OperatorName names a person who uses the console: lower-case, unique, and what the
// audit log calls them.
type OperatorName string

// operatorPrefix begins what the audit log calls an operator.
const operatorPrefix = "operator "

// String returns the form that the audit log shows, such as "operator ada".
func (n OperatorName) String() string { return operatorPrefix + string(n) }

// Actor returns the operator as who changed something.
func (n OperatorName) Actor() Actor { return Actor(n.String()) }

// MaxOperatorName is the longest name of an operator in characters.
const MaxOperatorName = 64

// ParseOperatorName checks a name: letters from a to z, digits, and after the first
// character also . _ - @, which every keyboard has. It returns an [Error] with
// [CodeInvalidField].
func ParseOperatorName(s string) (OperatorName, error) {
	allowed := func(i int, c rune) bool {
		return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && strings.ContainsRune("._-@", c)
	}
	ok := s != "" && len(s) <= MaxOperatorName
	for i, c := range s {
		ok = ok && allowed(i, c)
	}
	if !ok {
		return "", Errorf(CodeInvalidField, "an operator's name has 1 to %d characters: a-z, 0-9, and after the first one also . _ - @ (got %.100q)", MaxOperatorName, s)
	}
	return OperatorName(s), nil
}

// Role is what an operator may do in the console.
type Role string

// The roles.
const (
	RoleAdmin  Role = "admin"  // sees and changes everything
	RoleViewer Role = "viewer" // sees everything
)

// Changes reports whether the role may change anything.
func (r Role) Changes() bool { return r == RoleAdmin }

// ParseRole returns an [Error] with [CodeInvalidField] for a name that is not a role's.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case RoleAdmin, RoleViewer:
		return r, nil
	default:
		return "", Errorf(CodeInvalidField, "a role must be admin or viewer (got %.100q)", s)
	}
}

// Operator is a person who may use the console.
type Operator struct {
	Name      OperatorName
	Role      Role
	CreatedAt time.Time
	// LinkEndsAt is until when the operator's link can be used, zero without one.
	LinkEndsAt time.Time
	// Sessions is how many are open.
	Sessions int64
}

// OperatorStore keeps operators and their links. Every change commits together with its
// audit entry.
type OperatorStore interface {
	// CreateOperator creates an operator with a link, which can be used until
	// [LinkLife] has passed. It returns an [Error] with [CodeInvalidField] when the
	// name is taken.
	CreateOperator(ctx context.Context, by Actor, name OperatorName, role Role, link TokenHash) (Operator, error)
	// LinkOperator gives an operator another link, in the place of one that was not
	// used. It returns an [Error] with [CodeNotFound].
	LinkOperator(ctx context.Context, by Actor, name OperatorName, link TokenHash) (Operator, error)
	// EachOperator calls fn for every operator, by name, and stops at the first error
	// that fn returns.
	EachOperator(ctx context.Context, fn func(Operator) error) error
	// RemoveOperator removes an operator, and ends their sessions and link at once. It
	// returns an [Error] with [CodeNotFound].
	RemoveOperator(ctx context.Context, by Actor, name OperatorName) error
}

// How long what lets an operator in is good for.
const (
	// LinkLife is how long a link can be used: long enough to carry it to a browser,
	// and too short to be found later in a terminal's history.
	LinkLife = 15 * time.Minute
	// SessionIdle is how long a session lasts while nobody opens a page or changes
	// anything: it ends overnight.
	SessionIdle = 12 * time.Hour
	// SessionLife is how long a session lasts in any case.
	SessionLife = 7 * 24 * time.Hour
	// SessionTouch is how often the use of a session is recorded.
	SessionTouch = time.Minute
)

// TokenHash is the SHA-256 of a token, which has 160 random bits: a plain hash cannot be
// searched and needs no salt.
type TokenHash [sha256.Size]byte

// GeneratedToken is a fresh token, of a link or of a session, and what may be stored of
// it.
type GeneratedToken struct {
	Secret Secret
	Hash   TokenHash
}

// tokenBytes is how many random bytes a token has, and tokenLength how many characters.
const (
	tokenBytes  = 20
	tokenLength = tokenBytes * 8 / 5
)

// GenerateToken makes a token from a source of cryptographically secure random bytes,
// normally crypto/rand.Reader.
func GenerateToken(random io.Reader) (GeneratedToken, error) {
	var b [tokenBytes]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return GeneratedToken{}, fmt.Errorf("read random bytes: %w", err)
	}
	text := strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
	return GeneratedToken{Secret: NewSecret(text), Hash: sha256.Sum256([]byte(text))}, nil
}

// ParseToken returns the hash to look a token up by. It returns an [Error] with
// [CodeNotFound] for what cannot be one, and never repeats it.
func ParseToken(s string) (TokenHash, error) {
	base32Digit := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= '2' && c <= '7' }
	if len(s) != tokenLength || strings.ContainsFunc(s, func(c rune) bool { return !base32Digit(c) }) {
		return TokenHash{}, ErrLinkInvalid()
	}
	return sha256.Sum256([]byte(s)), nil
}

// ErrLinkInvalid says that a link cannot be used, or no longer.
func ErrLinkInvalid() *Error {
	return Errorf(CodeNotFound, "this link was used already, has expired, or is not whole; ask for another one")
}

// ErrNotSignedIn says that a browser has no session, or an expired one.
func ErrNotSignedIn() *Error {
	return Errorf(CodeNotFound, "you are not signed in, or your session has ended; sign in with a new link")
}

// Session is an operator at a browser.
type Session struct {
	Operator  OperatorName
	Role      Role // of the operator, as it is now
	CreatedAt time.Time
	SeenAt    time.Time // of the last request that was recorded
}

// Ended reports whether the session is over at a moment.
func (s Session) Ended(now time.Time) bool {
	return !now.Before(s.CreatedAt.Add(SessionLife)) || !now.Before(s.SeenAt.Add(SessionIdle))
}

// Stale reports whether a request at a moment is to be recorded.
func (s Session) Stale(now time.Time) bool { return !now.Before(s.SeenAt.Add(SessionTouch)) }

// SessionStore keeps sessions, of which it knows hashes only.
type SessionStore interface {
	// SignIn uses a link up and begins a session, together with an audit entry. It
	// returns an [Error] with [CodeNotFound] when the link is not good, or no longer.
	SignIn(ctx context.Context, link, session TokenHash) (Session, error)
	// FindSession returns a session that has not ended, or an [Error] with
	// [CodeNotFound].
	FindSession(ctx context.Context, session TokenHash) (Session, error)
	// TouchSession records that a session was used now.
	TouchSession(ctx context.Context, session TokenHash) error
	// SignOut ends a session. It does nothing when there is none.
	SignOut(ctx context.Context, session TokenHash) error
	// SignOutEverywhere ends all sessions of an operator, together with an audit
	// entry, and returns how many there were.
	SignOutEverywhere(ctx context.Context, by Actor, name OperatorName) (ended int64, err error)
}

// OperatorTokenID identifies a token of the management API: from 1, never reused.
type OperatorTokenID int64

// OperatorToken is a bearer credential of the management API. It has a name of its own, and
// belongs to no operator.
type OperatorToken struct {
	ID        OperatorTokenID
	Name      OperatorName
	Role      Role
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
}

// String returns what the audit log calls the token, such as "token ci".
func (t OperatorToken) String() string { return "token " + string(t.Name) }

// Actor returns the token as who changed something.
func (t OperatorToken) Actor() Actor { return Actor(t.String()) }

// State returns the token's state at a moment: active, expired or revoked.
func (t OperatorToken) State(now time.Time) KeyState {
	return Key{ExpiresAt: t.ExpiresAt, RevokedAt: t.RevokedAt}.State(now)
}

// operatorTokenPrefix begins the secret of each token of the management API, so that scanners
// find it.
const operatorTokenPrefix = "pct_"

// GenerateOperatorToken makes the secret of a token of the management API.
func GenerateOperatorToken(random io.Reader) (GeneratedToken, error) {
	g, err := GenerateToken(random)
	return GeneratedToken{Secret: NewSecret(operatorTokenPrefix + g.Secret.Reveal()), Hash: g.Hash}, err
}

// ParseOperatorToken returns the hash to look a token of the management API up by. It returns
// an [Error] with [CodeInvalidAPIKey] for what cannot be one, and never repeats it.
func ParseOperatorToken(s string) (TokenHash, error) {
	text, found := strings.CutPrefix(s, operatorTokenPrefix)
	hash, err := ParseToken(text)
	if !found || err != nil {
		return TokenHash{}, ErrTokenInvalid()
	}
	return hash, nil
}

// ErrTokenInvalid says that a token of the management API is not known.
func ErrTokenInvalid() *Error {
	return Errorf(CodeInvalidAPIKey, "the token is not valid; send the whole token, as it was shown when it was created")
}

// OperatorTokenStore keeps tokens of the management API. Every change commits together with
// its audit entry.
type OperatorTokenStore interface {
	// CreateToken creates a token that works until expiresAt, zero for ever. It returns an
	// [Error] with [CodeInvalidField] when that is not in the future, or when a token that
	// was not revoked has the name already.
	CreateToken(ctx context.Context, by Actor, name OperatorName, role Role, expiresAt time.Time, token TokenHash) (OperatorToken, error)
	// Tokens returns all tokens, by id ascending.
	Tokens(ctx context.Context) ([]OperatorToken, error)
	// FindToken returns a token whatever its state, or [ErrTokenInvalid].
	FindToken(ctx context.Context, token TokenHash) (OperatorToken, error)
	// RevokeToken revokes the token of a name for ever. It returns an [Error] with
	// [CodeNotFound] when there is none that was not revoked.
	RevokeToken(ctx context.Context, by Actor, name OperatorName) (OperatorToken, error)
}
