package petcat

import (
	"context"
	"fmt"
	"io"
	"regexp"
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
	if !operatorNameForm.MatchString(s) {
		return "", Errorf(CodeInvalidField, "an operator's name has 1 to %d characters: a-z, 0-9, and after the first one also . _ - @ (got %.100q)", MaxOperatorName, s)
	}
	return OperatorName(s), nil
}

var operatorNameForm = regexp.MustCompile(fmt.Sprintf(`^[a-z0-9][a-z0-9._@-]{0,%d}$`, MaxOperatorName-1))

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
	if r := Role(s); r == RoleAdmin || r == RoleViewer {
		return r, nil
	}
	return "", Errorf(CodeInvalidField, "a role must be admin or viewer (got %.100q)", s)
}

// Operator is a person who may use the console.
type Operator struct {
	Name       OperatorName
	Role       Role
	CreatedAt  time.Time
	LinkEndsAt time.Time // expiry of the operator's link; zero without one
	Sessions   int64     // number of open sessions
}

// OperatorStore keeps operators. Every change commits together with its audit entry.
type OperatorStore interface {
	// CreateOperator creates an operator with a sign-in link, which expires after [LinkLife].
	// It returns an [Error] with [CodeInvalidField] if the name is taken.
	CreateOperator(ctx context.Context, by Actor, name OperatorName, role Role, link TokenHash) (Operator, error)
	// Operators returns all operators by name.
	Operators(ctx context.Context) ([]Operator, error)
	// RemoveOperator removes an operator with their sessions and link. It returns an [Error]
	// with [CodeNotFound].
	RemoveOperator(ctx context.Context, by Actor, name OperatorName) error
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
