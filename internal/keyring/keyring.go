// Package keyring identifies callers: it finds the account and plan of a credential. It keeps all
// keys and accounts in memory. It loads them at the start, and polls the store for changes five
// times per second, and immediately after this node's own changes. So a revoked key stops working
// immediately on the node that revoked it, and within a second on other nodes.
//
// If the polls fail for 30 s, all requests are rejected, because keys may have been revoked.
package keyring

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
)

// MaxAge is the time for which keys are trusted after the last successful poll.
const MaxAge = 30 * time.Second

// access is the part of a store that the keyring reads.
type access interface {
	Revision(ctx context.Context) (petcat.Revision, error)
	EachAccount(ctx context.Context, fn func(petcat.Account) error) error
	EachKeyAccess(ctx context.Context, fn func(petcat.KeyAccess) error) error
	EachBan(ctx context.Context, fn func(petcat.Ban) error) error
	AccessChangesSince(ctx context.Context, after petcat.Revision) (petcat.AccessChange, error)
}

// Options for a [Keyring]. All fields are required.
type Options struct {
	Environment petcat.Environment
	Store       access
	Clock       clock.Clock
	Logger      *slog.Logger
	// Ban is called with each ban at the start, and with each changed ban.
	Ban func(petcat.Ban)
}

// Keyring holds the keys and accounts. It is safe for concurrent use. Use [Load].
type Keyring struct {
	o    Options
	feed feed

	readAt atomic.Int64 // when the last successful poll was sent, as clock.Reading.Mono

	mu sync.RWMutex
	// keys and accounts are indexed by id, because ids are consecutive. Guarded by mu.
	keys     []key
	accounts []account
	count    int // number of keys; guarded by mu
	// networks has the few keys that have some; guarded by mu.
	networks map[petcat.KeyID]petcat.Networks
	// table is a hash table of ids with linear probing, indexed by the first bytes of a key's
	// hash; guarded by mu. A map would take three times the memory.
	table []uint32
}

// key is 56 bytes.
type key struct {
	hash                        petcat.KeyHash
	account                     petcat.AccountID
	expiresAt                   int64 // Unix milliseconds; 0: never
	readOnly, disabled, revoked bool
}

type account struct {
	plan    petcat.Plan
	quota   petcat.Quota
	storage petcat.Storage
	closed  bool
}

// Load loads all keys. Then call Run.
func Load(ctx context.Context, o Options) (*Keyring, error) {
	k := &Keyring{
		o:        o,
		table:    make([]uint32, 1024),
		networks: make(map[petcat.KeyID]petcat.Networks),
		feed:     feed{wake: make(chan struct{}, 1)},
	}
	asked := o.Clock.Read()
	var err error
	// The first poll reads changes after this revision, including those during the load.
	if k.feed.seen, err = o.Store.Revision(ctx); err != nil {
		return nil, fmt.Errorf("keyring: read the revision: %w", err)
	}
	reads, reading := errgroup.WithContext(ctx) // together, because reading a million takes seconds
	reads.Go(func() error { return k.loadAccounts(reading) })
	reads.Go(func() error { return k.loadKeys(reading) })
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	err = o.Store.EachBan(ctx, func(b petcat.Ban) error {
		o.Ban(b)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("keyring: read the bans: %w", err)
	}
	k.readAt.Store(asked.Mono)
	return k, nil
}

func (k *Keyring) loadAccounts(ctx context.Context) error {
	plans := make(map[petcat.Plan]petcat.Plan) // share the strings between accounts
	err := k.o.Store.EachAccount(ctx, func(a petcat.Account) error {
		if _, known := plans[a.Plan]; !known {
			plans[a.Plan] = a.Plan
		}
		a.Plan = plans[a.Plan]
		k.setAccount(a)
		return nil
	})
	if err != nil {
		return fmt.Errorf("keyring: read the accounts: %w", err)
	}
	return nil
}

func (k *Keyring) loadKeys(ctx context.Context) error {
	err := k.o.Store.EachKeyAccess(ctx, func(a petcat.KeyAccess) error {
		k.setKey(a)
		return nil
	})
	if err != nil {
		return fmt.Errorf("keyring: read the keys: %w", err)
	}
	return nil
}

// apply applies changes.
func (k *Keyring) apply(c petcat.AccessChange) {
	for _, a := range c.Accounts {
		k.setAccount(a)
	}
	for _, a := range c.Keys {
		k.setKey(a)
	}
	for _, b := range c.Bans {
		k.o.Ban(b)
	}
}

func (k *Keyring) setAccount(a petcat.Account) {
	k.mu.Lock()
	defer k.mu.Unlock()
	*at(&k.accounts, int64(a.ID)) = account{
		plan:    a.Plan,
		quota:   a.Quota,
		storage: a.Storage,
		closed:  a.Closed(),
	}
}

func (k *Keyring) setKey(a petcat.KeyAccess) {
	k.mu.Lock()
	defer k.mu.Unlock()
	entry := at(&k.keys, int64(a.ID))
	added := entry.account == 0
	*entry = key{hash: a.Hash, account: a.Account, readOnly: a.ReadOnly, disabled: a.Disabled, revoked: a.Revoked}
	if !a.ExpiresAt.IsZero() {
		entry.expiresAt = a.ExpiresAt.UnixMilli()
	}
	if a.Networks != "" {
		k.networks[a.ID] = a.Networks
	} else {
		delete(k.networks, a.ID)
	}
	if !added {
		return
	}
	k.count++
	if 2*k.count <= len(k.table) {
		k.table[k.place(&a.Hash)] = uint32(a.ID)
		return
	}
	k.table = make([]uint32, 2*len(k.table))
	for id := range k.keys {
		if k.keys[id].account != 0 {
			k.table[k.place(&k.keys[id].hash)] = uint32(id)
		}
	}
}

// at returns the element at an index, and extends the slice if necessary.
func at[T any](all *[]T, index int64) *T {
	if more := index + 1 - int64(len(*all)); more > 0 {
		*all = append(*all, make([]T, more)...)
	}
	return &(*all)[index]
}

// place returns the index in the table of the key with a hash, or a free one. The caller must hold
// the lock.
func (k *Keyring) place(hash *petcat.KeyHash) uint64 {
	last := uint64(len(k.table) - 1) // the length is a power of two; at least half of the table is free
	i := binary.LittleEndian.Uint64(hash[:]) & last
	for k.table[i] != 0 && k.keys[k.table[i]].hash != *hash {
		i = (i + 1) & last
	}
	return i
}

// Caller is the account and key of a credential.
type Caller struct {
	Key     petcat.KeyID
	Account petcat.AccountID
	Plan    petcat.Plan
	Quota   petcat.Quota
	Storage petcat.Storage // the most that the account may store
	// ReadOnly callers may not call operations that write.
	ReadOnly bool
	Networks petcat.Networks // in which the key works
}

// ErrUnknown is the cause of the error for a well-formed key that is not in memory. The key may be
// new: see [Keyring.IdentifyNew].
var ErrUnknown = errors.New("the key is unknown")

// Identify returns the caller with a credential, from memory. It returns a [petcat.Error] with the
// code of a 401, or with [petcat.CodeServiceUnavailable] if the keys are not trusted.
func (k *Keyring) Identify(credential string, now clock.Reading) (*Caller, error) {
	hash := petcat.HashKey(credential)
	caller, state := k.find(&hash, now)
	if caller == nil {
		if _, err := petcat.ParseKey(k.o.Environment, credential); err != nil {
			return nil, err
		}
	}
	if !k.trusted(now) {
		return nil, petcat.Errorf(petcat.CodeServiceUnavailable, "keys cannot be checked at the moment; retry later")
	}
	if caller == nil {
		return nil, petcat.Errorf(petcat.CodeInvalidAPIKey,
			"the API key is not valid; send the complete key, as it was shown when it was created").WithCause(ErrUnknown)
	}
	return caller, state.Err()
}

// IdentifyNew is [Keyring.Identify] after the next poll, for a key that was unknown. It waits up to a
// second for the poll.
func (k *Keyring) IdentifyNew(ctx context.Context, credential string, now clock.Reading) (*Caller, error) {
	await(ctx, k.feed.upcoming())
	return k.Identify(credential, now)
}

// Find returns the ids of the keys with these hashes, in any state, without the unknown ones. If one is
// unknown, it may be new: Find waits up to a second for the next poll.
func (k *Keyring) Find(ctx context.Context, hashes []petcat.KeyHash) []petcat.KeyID {
	found := k.known(hashes)
	if len(found) < len(hashes) {
		await(ctx, k.feed.upcoming())
		found = k.known(hashes)
	}
	return found
}

// known returns the ids of the keys with these hashes that are in memory.
func (k *Keyring) known(hashes []petcat.KeyHash) (found []petcat.KeyID) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for i := range hashes {
		if id := k.table[k.place(&hashes[i])]; id != 0 {
			found = append(found, petcat.KeyID(id))
		}
	}
	return found
}

// find returns the caller with a hash and the state of the key, or nil.
func (k *Keyring) find(hash *petcat.KeyHash, now clock.Reading) (*Caller, petcat.KeyState) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	id := k.table[k.place(hash)]
	if id == 0 {
		return nil, ""
	}
	key := &k.keys[id]
	if int(key.account) >= len(k.accounts) || k.accounts[key.account].plan == "" {
		return nil, "" // created during Load; the next poll adds the account
	}
	a := &k.accounts[key.account]
	c := &Caller{
		Key:      petcat.KeyID(id),
		Account:  key.account,
		Plan:     a.plan,
		Quota:    a.quota,
		Storage:  a.storage,
		ReadOnly: key.readOnly,
		Networks: k.networks[petcat.KeyID(id)],
	}
	switch { // in the order of [petcat.Key.State]
	case key.revoked || a.closed:
		return c, petcat.KeyRevoked
	case key.expiresAt != 0 && now.Wall/int64(time.Millisecond) >= key.expiresAt:
		return c, petcat.KeyExpired
	case key.disabled:
		return c, petcat.KeyDisabled
	default:
		return c, petcat.KeyActive
	}
}

func (k *Keyring) trusted(now clock.Reading) bool { return now.Mono-k.readAt.Load() <= int64(MaxAge) }

// Trusted reports whether the keys are recent enough to be used.
func (k *Keyring) Trusted() bool { return k.trusted(k.o.Clock.Read()) }

// Keys returns the number of keys.
func (k *Keyring) Keys() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.count
}
