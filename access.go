package petcat

import (
	"context"
	"time"
)

// Revision numbers the writes to a store in commit order, from 1. A reader that has seen everything up to
// R and then reads everything after R does not miss a change.
type Revision int64

// KeyAccess is the state of a key that a server needs.
type KeyAccess struct {
	Hash                        KeyHash
	ID                          KeyID
	Account                     AccountID
	ExpiresAt                   time.Time // zero: never
	Networks                    Networks
	ReadOnly, Disabled, Revoked bool
}

// AccessChange has the current state of the accounts, keys and bans that changed up to a
// revision, lifted bans included.
type AccessChange struct {
	Revision Revision
	Keys     []KeyAccess
	Accounts []Account
	Bans     []Ban
}

// AccessStore has the accounts, keys and bans that a server keeps in memory, and their changes.
type AccessStore interface {
	// Revision returns the revision of the last write, by this process or
	// another.
	Revision(ctx context.Context) (Revision, error)
	// EachKeyAccess calls fn for every key ever created, in any order, and stops at the first
	// error that fn returns.
	EachKeyAccess(ctx context.Context, fn func(KeyAccess) error) error
	// EachBan calls fn for the last ban of each key, like EachKeyAccess.
	EachBan(ctx context.Context, fn func(Ban) error) error
	// AccessChangesSince returns everything that any process changed after a revision.
	AccessChangesSince(ctx context.Context, after Revision) (AccessChange, error)
}
