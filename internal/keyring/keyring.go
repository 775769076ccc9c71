// Package keyring identifies callers: it turns a credential into an account with its
// plan, from memory if it can.
//
// It refuses a credential that cannot be a key without a query. It keeps a few bits in
// memory of every key that exists: a key without them does not exist. It says so only
// after it has read the change log to its end, because the key may have been created a
// moment ago. So all clients that guess keys share one small query at a time. A key that
// may exist is looked up in one query with all others that wait, and kept in bounded
// memory.
//
// The change log says which keys to forget. If the change log was not read for
// [Options.MaxAge], the keyring stops using the keys in memory and looks up the key of
// every request. If the store does not respond either, it refuses all requests: a revoked
// key must not work because something is broken.
package keyring

import (
	"context"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// credentials is where keys are looked up.
type credentials interface {
	FindCredentials(ctx context.Context, hashes []petcat.KeyHash) (map[petcat.KeyHash]petcat.Credential, error)
	EachKeyHash(ctx context.Context, fn func(petcat.KeyHash) error) error
}

// Options for a [Keyring]. All fields are required but those with a default.
type Options struct {
	Environment petcat.Environment
	Store       credentials
	Clock       clock.Clock
	// CatchUp returns nil once everything that was committed before the call has
	// been handed to Apply.
	CatchUp func(ctx context.Context) error
	// MaxEntries bounds how many keys are kept in memory; 100,000 by default, some
	// 20 MB. A test holds the bytes of one.
	MaxEntries int
	// MaxAge is how long the keyring trusts the keys in memory after the change log was
	// last read; 30 s by default.
	MaxAge time.Duration
	// LookupTimeout bounds how long a caller waits for the store; 2 s by default.
	LookupTimeout time.Duration
}

// Keyring knows the keys. Use [New]. It is safe for concurrent use.
type Keyring struct {
	environment   petcat.Environment
	store         credentials
	clock         clock.Clock
	catchUp       func(ctx context.Context) error
	maxAge        time.Duration
	lookupTimeout time.Duration

	issued  filter // every key that exists
	known   *cache // those that were looked up
	lookups lookups
	// generation grows before any key is forgotten. The result of a lookup that began
	// before that is not kept, because it may be out of date.
	generation atomic.Uint64
	polledAt   atomic.Int64 // monotonic nanoseconds
	lookedUp   atomic.Uint64
}

// New returns a keyring that trusts its keys for MaxAge from now. Call LoadHashes in a
// goroutine, and Close in the end.
func New(o Options) *Keyring {
	if o.MaxEntries == 0 {
		o.MaxEntries = 100_000
	}
	if o.MaxAge == 0 {
		o.MaxAge = 30 * time.Second
	}
	if o.LookupTimeout == 0 {
		o.LookupTimeout = 2 * time.Second
	}
	k := &Keyring{
		environment: o.Environment, store: o.Store, clock: o.Clock, catchUp: o.CatchUp,
		maxAge: o.MaxAge, lookupTimeout: o.LookupTimeout, known: newCache(o.MaxEntries),
	}
	k.polledAt.Store(o.Clock.Read().Mono)
	return k
}

// loadRetry is the pause before all keys are read again after a failure.
const loadRetry = time.Second

// LoadHashes reads which keys exist, and tries again until it has or ctx ends. The
// change log must be followed from a revision that was read before. Until LoadHashes
// returns, every key that is not in memory is looked up, as if it might exist.
func (k *Keyring) LoadHashes(ctx context.Context) {
	for ctx.Err() == nil {
		err := k.store.EachKeyHash(ctx, func(hash petcat.KeyHash) error {
			k.issued.add(&hash)
			return nil
		})
		if err == nil {
			k.issued.complete.Store(true)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(loadRetry): // the follower of the change log logs that the store is unavailable
		}
	}
}

// Close waits for the lookup in flight. Do not call Identify any more.
func (k *Keyring) Close() { k.lookups.running.Wait() }

// Caller is the account and key of a credential.
type Caller struct {
	Key     petcat.KeyID
	Account petcat.AccountID
	Plan    petcat.Plan
	Quota   petcat.Quota
	// ReadOnly callers may not use operations that write.
	ReadOnly bool

	hash      petcat.KeyHash
	state     petcat.KeyState // but for the expiry, which comes by itself
	expiresAt int64           // Unix milliseconds, 0 for never; nanoseconds end in 2262
}

// err returns the error if the key is not active, else nil.
func (c *Caller) err(now clock.Reading) error {
	state := c.state
	if state != petcat.KeyRevoked && c.expiresAt != 0 && now.Wall/int64(time.Millisecond) >= c.expiresAt {
		state = petcat.KeyExpired // the order is that of [petcat.Key.State]
	}
	if state == petcat.KeyActive {
		return nil
	}
	return state.Err()
}

// Identify returns the caller with a credential. It returns a [petcat.Error] with the code
// of a 401, or with [petcat.CodeServiceUnavailable] if the key cannot be checked.
func (k *Keyring) Identify(ctx context.Context, credential string, now clock.Reading) (*Caller, error) {
	hash, err := petcat.ParseKey(k.environment, credential)
	if err != nil {
		return nil, err
	}
	if now.Mono-k.polledAt.Load() <= int64(k.maxAge) {
		if caller := k.known.get(hash); caller != nil {
			return caller, caller.err(now)
		}
	}
	if err := k.mayExist(ctx, hash); err != nil {
		return nil, err
	}
	caller, err := k.lookUp(ctx, hash)
	if err != nil {
		return nil, err
	}
	return caller, caller.err(now)
}

// mayExist returns an error if the key certainly does not exist, or if that cannot be
// checked. If ctx ends first, the key counts as one that does not exist.
func (k *Keyring) mayExist(ctx context.Context, hash petcat.KeyHash) error {
	if k.issued.holds(&hash) {
		return nil
	}
	patient, cancel := context.WithTimeoutCause(ctx, k.lookupTimeout, errNoAnswer)
	defer cancel()
	err := k.catchUp(patient)
	switch {
	case err == nil && k.issued.holds(&hash):
		return nil
	case err == nil:
		return errUnknown()
	case ctx.Err() != nil:
		return errUnknown().WithCause(context.Cause(ctx))
	default:
		return errUnavailable(err)
	}
}

func errUnknown() *petcat.Error {
	return petcat.Errorf(petcat.CodeInvalidAPIKey, "the API key is not valid; send the whole key, as it was shown when it was created")
}

func errUnavailable(cause error) *petcat.Error {
	return petcat.Errorf(petcat.CodeServiceUnavailable, "keys cannot be checked at the moment; retry later").WithCause(cause)
}

func newCaller(hash petcat.KeyHash, found petcat.Credential) *Caller {
	c := &Caller{
		Key: found.Key.ID, Account: found.Account.ID, Plan: found.Account.Plan, Quota: found.Account.Quota,
		ReadOnly: found.Key.ReadOnly, hash: hash, state: petcat.KeyActive,
	}
	key := found.Key
	if found.Account.Closed() && key.RevokedAt.IsZero() {
		key.RevokedAt = found.Account.ClosedAt
	}
	if !key.ExpiresAt.IsZero() {
		c.expiresAt = key.ExpiresAt.UnixMilli()
	}
	// The expiry is judged at each request; here, what holds apart from it.
	key.ExpiresAt = time.Time{}
	c.state = key.State(time.Time{})
	return c
}

// Apply forgets the keys that changed, and adds the hashes of new ones.
func (k *Keyring) Apply(change petcat.AccessChange) {
	if len(change.Keys) == 0 && len(change.Accounts) == 0 {
		return
	}
	k.generation.Add(1)
	for _, hash := range change.Keys {
		k.issued.add(&hash)
		k.known.remove(hash)
	}
	if len(change.Accounts) > 0 {
		k.known.removeAccounts(change.Accounts)
	}
}

// Polled notes that the change log was read to its end, by a poll that was sent at
// the given moment.
func (k *Keyring) Polled(asked clock.Reading) { k.polledAt.Store(asked.Mono) }

// Stats are for metrics.
type Stats struct {
	Known   int    // entries in memory
	Lookups uint64 // keys looked up in the store so far
	// Trusted says whether the keys in memory are used.
	Trusted bool
}

// Stats returns the state of the keyring.
func (k *Keyring) Stats() Stats {
	return Stats{
		Known: k.known.len(), Lookups: k.lookedUp.Load(),
		Trusted: k.clock.Read().Mono-k.polledAt.Load() <= int64(k.maxAge),
	}
}
