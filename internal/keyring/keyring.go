// Package keyring answers who is calling: it turns a credential into an account
// with its plan, from memory where it can.
//
// It refuses, without a look at the store, whatever cannot be a key. What it
// looked up it keeps, whether there was such a key or not, in bounded memory.
// The change log tells it what to forget; when it has not heard from the change
// log for [Options.Trust], it stops believing what it kept and asks the store
// for every request, and when the store does not answer either, nobody gets in:
// a revoked key must not outlive the revocation because something is broken.
package keyring

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// credentials is where keys are looked up.
type credentials interface {
	FindCredential(ctx context.Context, hash petcat.KeyHash) (petcat.Credential, error)
}

// Options for a [Keyring]. All fields are required but those with a default.
type Options struct {
	Environment petcat.Environment
	Store       credentials
	Clock       clock.Clock
	// MaxEntries bounds how many keys are kept in memory, and how many unknown
	// ones; 100,000 by default, some 40 MB with both. A test holds the bytes of one.
	MaxEntries int
	// Trust is how long the keyring believes what it kept without hearing from
	// the change log; 30 s by default.
	Trust time.Duration
	// LookupTimeout bounds one question to the store; 2 s by default.
	LookupTimeout time.Duration
}

// Keyring knows the keys. Use [New]. It is safe for concurrent use.
type Keyring struct {
	environment   petcat.Environment
	store         credentials
	clock         clock.Clock
	trust         time.Duration
	lookupTimeout time.Duration

	known, unknown *cache
	// generation grows before anything is forgotten: a look-up that began
	// before must not be kept, because it may have seen the state before.
	generation atomic.Uint64
	heardAt    atomic.Int64 // monotonic nanoseconds
	lookups    atomic.Uint64
}

// New returns a keyring that has just heard from the change log.
func New(o Options) *Keyring {
	if o.MaxEntries == 0 {
		o.MaxEntries = 100_000
	}
	if o.Trust == 0 {
		o.Trust = 30 * time.Second
	}
	if o.LookupTimeout == 0 {
		o.LookupTimeout = 2 * time.Second
	}
	k := &Keyring{
		environment: o.Environment, store: o.Store, clock: o.Clock,
		trust: o.Trust, lookupTimeout: o.LookupTimeout,
		known: newCache(o.MaxEntries), unknown: newCache(o.MaxEntries),
	}
	k.heardAt.Store(o.Clock.Read().Mono)
	return k
}

// Caller is who a credential belongs to.
type Caller struct {
	Key     petcat.KeyID
	Account petcat.AccountID
	Plan    petcat.Plan
	Quota   petcat.Quota

	hash      petcat.KeyHash
	state     petcat.KeyState // but for the expiry, which comes by itself
	expiresAt int64           // Unix nanoseconds, 0 for never
}

// err returns why the caller may not come in, nil if it may.
func (c *Caller) err(now clock.Reading) error {
	state := c.state
	if state != petcat.KeyRevoked && c.expiresAt != 0 && now.Wall >= c.expiresAt {
		state = petcat.KeyExpired // the order is that of [petcat.Key.State]
	}
	if state == petcat.KeyActive {
		return nil
	}
	return state.Err()
}

// Identify returns the holder of a credential. It returns an [petcat.Error]
// with the code of a 401, or with [petcat.CodeServiceUnavailable] when it
// cannot know.
func (k *Keyring) Identify(ctx context.Context, credential string, now clock.Reading) (*Caller, error) {
	hash, err := petcat.ParseKey(k.environment, credential)
	if err != nil {
		return nil, err
	}
	if now.Mono-k.heardAt.Load() <= int64(k.trust) {
		if caller := k.known.get(hash); caller != nil {
			return caller, caller.err(now)
		}
		if k.unknown.get(hash) != nil {
			return nil, errUnknown()
		}
	}
	caller, err := k.lookUp(ctx, hash)
	if err != nil {
		return nil, err
	}
	return caller, caller.err(now)
}

func errUnknown() error {
	return petcat.Errorf(petcat.CodeInvalidAPIKey, "the API key is not valid; send the whole key, as it was shown when it was created")
}

// lookUp asks the store, and keeps the answer unless something changed
// meanwhile.
func (k *Keyring) lookUp(ctx context.Context, hash petcat.KeyHash) (*Caller, error) {
	ctx, cancel := context.WithTimeout(ctx, k.lookupTimeout)
	defer cancel()
	k.lookups.Add(1)
	generation := k.generation.Load()
	found, err := k.store.FindCredential(ctx, hash)
	switch {
	case petcat.CodeOf(err) == petcat.CodeNotFound:
		k.keep(k.unknown, &Caller{hash: hash}, generation)
		return nil, errUnknown()
	case errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, petcat.Errorf(petcat.CodeServiceUnavailable, "keys cannot be checked at the moment; retry later").Because(err)
	}
	caller := newCaller(hash, found)
	k.keep(k.known, caller, generation)
	return caller, nil
}

// keep puts an answer into a cache, unless something was forgotten since the
// look-up began, in the given generation.
func (k *Keyring) keep(in *cache, caller *Caller, generation uint64) {
	if k.generation.Load() != generation {
		return
	}
	in.put(caller)
	// Something may have been forgotten between the check and the put.
	if k.generation.Load() != generation {
		in.remove(caller.hash)
	}
}

func newCaller(hash petcat.KeyHash, found petcat.Credential) *Caller {
	c := &Caller{
		Key: found.Key.ID, Account: found.Account.ID, Plan: found.Account.Plan, Quota: found.Account.Quota,
		hash: hash, state: petcat.KeyActive,
	}
	key := found.Key
	if found.Account.Closed() && key.RevokedAt.IsZero() {
		key.RevokedAt = found.Account.ClosedAt
	}
	if !key.ExpiresAt.IsZero() {
		c.expiresAt = key.ExpiresAt.UnixNano()
	}
	// The expiry is judged at each request; here, what holds apart from it.
	key.ExpiresAt = time.Time{}
	c.state = key.State(time.Time{})
	return c
}

// Apply forgets what changed.
func (k *Keyring) Apply(change petcat.AccessChange) {
	if len(change.Keys) == 0 && len(change.Accounts) == 0 {
		return
	}
	k.generation.Add(1)
	for _, hash := range change.Keys {
		k.known.remove(hash)
		k.unknown.remove(hash)
	}
	if len(change.Accounts) > 0 {
		k.known.removeAccounts(change.Accounts)
	}
}

// Heard notes that the change log was read to its end, in a question asked at
// the given moment.
func (k *Keyring) Heard(asked clock.Reading) { k.heardAt.Store(asked.Mono) }

// Stats are for metrics.
type Stats struct {
	Known, Unknown int    // entries in memory
	Lookups        uint64 // questions to the store so far
	// Trusted says whether what is in memory is believed.
	Trusted bool
}

// Stats returns how the keyring stands.
func (k *Keyring) Stats() Stats {
	return Stats{
		Known: k.known.len(), Unknown: k.unknown.len(), Lookups: k.lookups.Load(),
		Trusted: k.clock.Read().Mono-k.heardAt.Load() <= int64(k.trust),
	}
}
