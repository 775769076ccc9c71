package petcat

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"strings"
)

// TokenHash is the SHA-256 of a token, which has at least 160 random bits: a plain hash cannot be
// searched and does not need a salt.
type TokenHash [sha256.Size]byte

// GeneratedToken is a new token of a link or a session, and the hash to store.
type GeneratedToken struct {
	Secret Secret
	Hash   TokenHash
}

// tokenBytes is the number of random bytes of a token, and tokenLength its length in characters.
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

// ParseToken returns the hash by which a token is stored. It returns an [Error] with
// [CodeNotFound], which never repeats the text, if the text cannot be a token.
func ParseToken(s string) (TokenHash, error) {
	base32Digit := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= '2' && c <= '7' }
	if len(s) != tokenLength || strings.ContainsFunc(s, func(c rune) bool { return !base32Digit(c) }) {
		return TokenHash{}, ErrLinkInvalid()
	}
	return sha256.Sum256([]byte(s)), nil
}
