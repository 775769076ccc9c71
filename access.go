package petcat

import "context"

// Credential is a key with its account.
type Credential struct {
	Key     Key
	Account Account
}

// AccessChange lists which accounts, keys and bans changed, up to a revision.
type AccessChange struct {
	Revision Revision
	Keys     []KeyHash   // keys whose own state changed
	Accounts []AccountID // accounts whose plan or state changed
	Bans     []Ban       // bans as they are now, lifted ones among them
}

// Empty reports whether nothing changed.
func (c AccessChange) Empty() bool {
	return len(c.Keys) == 0 && len(c.Accounts) == 0 && len(c.Bans) == 0
}

// AccessStore finds the accounts of keys, and what changes of accounts, keys and bans.
type AccessStore interface {
	// Revision returns the revision of the last write, by this process or
	// another.
	Revision(ctx context.Context) (Revision, error)
	// FindCredentials returns the keys with these hashes, and their accounts, in one query.
	// Hashes of no key are not in the result.
	FindCredentials(ctx context.Context, hashes []KeyHash) (map[KeyHash]Credential, error)
	// EachKeyHash calls fn for the hash of every key that was ever created, in any
	// order, and stops at the first error that fn returns.
	EachKeyHash(ctx context.Context, fn func(KeyHash) error) error
	// AccessChangesSince returns everything that changed after a revision, by
	// this process and by others.
	AccessChangesSince(ctx context.Context, after Revision) (AccessChange, error)
}
