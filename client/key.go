package petcat

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Key are the operations on the key that the Client uses. A read-only key may use all of them.
type Key struct{ client *Client }

// keyPath is the path of an operation that does not count against the limits.
const keyPath = "/key"

// KeyInfo describes a key.
type KeyInfo struct {
	ID        string     `json:"id"`
	Label     string     `json:"label"`
	ReadOnly  bool       `json:"read_only"`
	ExpiresAt *Timestamp `json:"expires_at"` // nil: never
	// Networks are where the key works, in CIDR notation; empty: everywhere.
	Networks []string `json:"networks"`
}

// RotatedKey is the successor of a key.
type RotatedKey struct {
	KeyInfo

	// Key is the secret, which the service shows once. It is empty only if you repeat a rotation with the
	// idempotency key of an earlier one.
	Key           string    `json:"key"`
	Replaces      string    `json:"replaces"` // the id of the old key
	ReplacedUntil Timestamp `json:"replaced_until"`
}

// Get returns the key. The request does not count against the limits. It counts as a use of the key: send it
// with the successor after a rotation.
func (s *Key) Get(ctx context.Context, options ...Option) (KeyInfo, *Response, error) {
	var k KeyInfo
	res, err := s.client.Do(ctx, http.MethodGet, keyPath, nil, &k, options...)
	return k, res, err
}

// Rotate replaces the key and returns its successor. Store it, and call Get with a Client that uses it. Both keys
// work until the overlap ends: 5 minutes to 30 days; 0 is 24 hours.
//
// If the response with the secret was lost, Rotate rotates again, up to 5 seconds later, and the lost key is
// revoked. It does not if an option sets the idempotency key.
func (s *Key) Rotate(ctx context.Context, overlap time.Duration, options ...Option) (RotatedKey, *Response, error) {
	own, err := s.client.settings.with(options)
	if err != nil {
		return RotatedKey{}, nil, err
	}
	in := map[string]string{}
	if overlap != 0 {
		in["overlap"] = overlap.String()
	}
	for {
		var k RotatedKey
		res, err := s.client.Do(ctx, http.MethodPost, keyPath+"/rotate", in, &k, options...)
		if err != nil || !res.Replayed || own.header.Get(headerIdempotencyKey) != "" {
			return k, res, err
		}
	}
}

// Revoke revokes the key permanently.
func (s *Key) Revoke(ctx context.Context, options ...Option) (*Response, error) {
	res, err := s.client.Do(ctx, http.MethodPost, keyPath+"/revoke", nil, &KeyInfo{}, options...)
	if errors.Is(err, ErrOutcomeUnknown) && errors.Is(err, CodeRevokedAPIKey) {
		return res, nil // an earlier request of this call revoked it
	}
	return res, err
}
