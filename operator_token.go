package petcat

import (
	"context"
	"crypto/sha256"
	"io"
	"time"
)

// OperatorTokenID identifies an operator token: from 1, never reused.
type OperatorTokenID int64

// OperatorToken is a bearer credential of the management API. It has its own name, and does not belong to
// an operator.
type OperatorToken struct {
	ID        OperatorTokenID
	Name      OperatorName
	Role      Role
	Hint      string // of its secret; see [GeneratedOperatorToken]
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
	UsedAt    time.Time // of the last recorded request; zero: never used
}

// NewToken is an operator token to be created.
type NewToken struct {
	Name      OperatorName
	Role      Role
	ExpiresAt time.Time // zero: never
	Hash      TokenHash // of its secret
	Hint      string    // of its secret
}

// String returns the form that the audit log shows, such as "token ci".
func (t OperatorToken) String() string { return "token " + string(t.Name) }

// Actor returns the token as an actor.
func (t OperatorToken) Actor() Actor { return Actor(t.String()) }

// State returns the token's state at now: active, expired or revoked.
func (t OperatorToken) State(now time.Time) KeyState {
	return Key{ExpiresAt: t.ExpiresAt, RevokedAt: t.RevokedAt}.State(now)
}

// TokenTouch is how often the use of a token is recorded.
const TokenTouch = time.Minute

// Stale reports whether a request at now must be recorded.
func (t OperatorToken) Stale(now time.Time) bool { return !now.Before(t.UsedAt.Add(TokenTouch)) }

// operatorTokenPrefix is the prefix of all secrets of tokens, by which scanners find them.
const operatorTokenPrefix = "pct_"

// GeneratedOperatorToken is a new operator token's secret, with the hash and the hint to store.
type GeneratedOperatorToken struct {
	Secret Secret
	Hash   TokenHash
	Hint   string
}

// GenerateOperatorToken makes an operator token's secret, which has the format of a key.
func GenerateOperatorToken(random io.Reader) (GeneratedOperatorToken, error) {
	text, hint, err := generateSecret(operatorTokenPrefix, random)
	if err != nil {
		return GeneratedOperatorToken{}, err
	}
	return GeneratedOperatorToken{Secret: NewSecret(text), Hash: sha256.Sum256([]byte(text)), Hint: hint}, nil
}

// ParseOperatorToken returns the hash by which to look up an operator token. If the
// text cannot be a token, it returns an [Error] with [CodeInvalidToken], which never repeats
// the text.
func ParseOperatorToken(s string) (TokenHash, error) {
	if !isSecret(operatorTokenPrefix, s) {
		return TokenHash{}, ErrTokenInvalid()
	}
	return sha256.Sum256([]byte(s)), nil
}

// ErrTokenInvalid returns the error for an unknown operator token.
func ErrTokenInvalid() *Error {
	return Errorf(CodeInvalidToken,
		"the token is not valid; send the whole token, as it was shown when it was created")
}

// TokensWithHint returns the tokens with a hint. There are few tokens.
func TokensWithHint(all []OperatorToken, hint string) (found []OperatorToken) {
	for _, t := range all {
		if t.Hint == hint {
			found = append(found, t)
		}
	}
	return found
}

// OperatorTokenStore keeps tokens of the management API. Every change commits together with
// its audit entry.
type OperatorTokenStore interface {
	// CreateToken returns an [Error] with [CodeInvalidField] if the expiry is not in the future, and
	// with [CodeConflict] if another active token has the name.
	CreateToken(ctx context.Context, by Author, n NewToken) (Result[OperatorToken], error)
	// Tokens returns all tokens, by id ascending.
	Tokens(ctx context.Context) ([]OperatorToken, error)
	// FindToken returns a token in any state, or [ErrTokenInvalid].
	FindToken(ctx context.Context, token TokenHash) (OperatorToken, error)
	// FindTokens returns the tokens with some hashes, in their order, without those of unknown ones.
	FindTokens(ctx context.Context, tokens []TokenHash) ([]OperatorToken, error)
	// TouchToken records that a token was used now.
	TouchToken(ctx context.Context, id OperatorTokenID) error
	// RevokeToken permanently revokes the token with a name. It returns an [Error] with
	// [CodeNotFound] if the token does not exist, or is already revoked.
	RevokeToken(ctx context.Context, by Author, name OperatorName) (Result[OperatorToken], error)
}
