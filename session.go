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
		return TokenHash{}, NoSuchLink()
	}
	return sha256.Sum256([]byte(s)), nil
}

// NoSuchLink says that a link cannot be used, or no longer.
func NoSuchLink() *Error {
	return Errorf(CodeNotFound, "this link was used already, has expired, or is not whole; ask for another one")
}

// NoSession says that somebody is not signed in, or no longer.
func NoSession() *Error {
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
