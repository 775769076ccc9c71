package petcat

import (
	"context"
	"io"
	"strings"
	"time"
)

// OperatorTokenID identifies a token of the management API: from 1, never reused.
type OperatorTokenID int64

// OperatorToken is a bearer credential of the management API. It has its own name, and belongs
// to no operator.
type OperatorToken struct {
	ID        OperatorTokenID
	Name      OperatorName
	Role      Role
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
}

// NewToken is a token of the management API to be created.
type NewToken struct {
	Name      OperatorName
	Role      Role
	ExpiresAt time.Time // zero: never
	Hash      TokenHash // of its secret
}

// String returns the form that the audit log shows, such as "token ci".
func (t OperatorToken) String() string { return "token " + string(t.Name) }

// Actor returns the token as an actor.
func (t OperatorToken) Actor() Actor { return Actor(t.String()) }

// State returns the token's state at now: active, expired or revoked.
func (t OperatorToken) State(now time.Time) KeyState {
	return Key{ExpiresAt: t.ExpiresAt, RevokedAt: t.RevokedAt}.State(now)
}

// operatorTokenPrefix is the prefix of all secrets of tokens, by which scanners find them.
const operatorTokenPrefix = "pct_"

// GenerateOperatorToken makes the secret of a token of the management API.
func GenerateOperatorToken(random io.Reader) (GeneratedToken, error) {
	g, err := GenerateToken(random)
	return GeneratedToken{Secret: NewSecret(operatorTokenPrefix + g.Secret.Reveal()), Hash: g.Hash}, err
}

// ParseOperatorToken returns the hash by which to look up a token of the management API. If the
// text cannot be a token, it returns an [Error] with [CodeInvalidAPIKey], which never repeats
// the text.
func ParseOperatorToken(s string) (TokenHash, error) {
	text, found := strings.CutPrefix(s, operatorTokenPrefix)
	hash, err := ParseToken(text)
	if !found || err != nil {
		return TokenHash{}, ErrTokenInvalid()
	}
	return hash, nil
}

// ErrTokenInvalid returns the error for an unknown token of the management API.
func ErrTokenInvalid() *Error {
	return Errorf(CodeInvalidAPIKey,
		"the token is not valid; send the whole token, as it was shown when it was created")
}

// OperatorTokenStore keeps tokens of the management API. Every change commits together with
// its audit entry.
type OperatorTokenStore interface {
	// CreateToken returns an [Error] with [CodeInvalidField] if the expiry is not in the future, or
	// if another active token has the name.
	CreateToken(ctx context.Context, by Author, n NewToken) (Result[OperatorToken], error)
	// Tokens returns all tokens, by id ascending.
	Tokens(ctx context.Context) ([]OperatorToken, error)
	// FindToken returns a token in any state, or [ErrTokenInvalid].
	FindToken(ctx context.Context, token TokenHash) (OperatorToken, error)
	// RevokeToken permanently revokes the token with a name. It returns an [Error] with
	// [CodeNotFound] if there is no such token, or if it is already revoked.
	RevokeToken(ctx context.Context, by Author, name OperatorName) (Result[OperatorToken], error)
}
