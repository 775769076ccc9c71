package petcat

import "crypto/sha256"

// Actor is the author of a change: "cli:" and the name of the system's user for the command
// line, "operator " and the operator's name for the console, "token " and the token's name for
// the management API, "customer " and the account's id for the customer's page, and "petcat" for
// the service itself.
type Actor string

// ServiceActor is the service itself, for example when it imposes a ban.
const ServiceActor Actor = "petcat"

// Author is who makes a change. With an idempotency key, the change is made once for that key:
// a repeated request gets the result of the first one. See [Result].
type Author struct {
	Actor Actor
	// Key is the idempotency key that was sent; "" if none. Different actors may send the same one.
	Key IdempotencyKey
	// Request identifies the requested change: another request with the same key is an [Error]
	// with [CodeIdempotencyKeyReused]. Only used with a Key.
	Request string
}

// By returns an author without an idempotency key.
func By(a Actor) Author { return Author{Actor: a} }

// ParseAuthor returns an author with the Idempotency-Key that was sent. It returns an [Error] with
// [CodeInvalidField] for an invalid one. If none was sent, use [By].
func ParseAuthor(a Actor, sent, request string) (Author, error) {
	key, err := ParseIdempotencyKey(sent)
	if err != nil {
		return Author{}, err
	}
	return Author{Actor: a, Key: key, Request: request}, nil
}

// Fingerprint returns a SHA-256 of the requested change, which is an action of the audit log.
func (a Author) Fingerprint(action string) [sha256.Size]byte {
	return sha256.Sum256([]byte(action + "\x00" + a.Request))
}

// Result is the result of an author's change.
type Result[T any] struct {
	// Value is the resource after the change. If Replayed, it is the resource as it is now.
	Value T
	// Replayed is true if an earlier request with the same idempotency key made the change.
	Replayed bool
}
