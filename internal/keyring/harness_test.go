package keyring_test

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/keyring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// store is a store of credentials that counts the lookups.
type store struct {
	mu          sync.Mutex
	credentials map[petcat.KeyHash]petcat.Credential // guarded by mu
	changed     []petcat.KeyHash                     // put since the change log was read; guarded by mu
	away        error                                // guarded by mu
	lookups     int                                  // guarded by mu
	asked       int                                  // hashes asked for; guarded by mu
	caughtUp    int                                  // how often the change log was asked for; guarded by mu
	// answering is called between reading and answering. Optional.
	answering func(context.Context)
}

func (s *store) FindCredentials(ctx context.Context, hashes []petcat.KeyHash) (map[petcat.KeyHash]petcat.Credential, error) {
	s.mu.Lock()
	s.lookups++
	s.asked += len(hashes)
	found := make(map[petcat.KeyHash]petcat.Credential)
	for _, hash := range hashes {
		if c, ok := s.credentials[hash]; ok {
			found[hash] = c
		}
	}
	away := s.away
	s.mu.Unlock()
	if s.answering != nil {
		s.answering(ctx)
	}
	switch {
	case away != nil:
		return nil, away
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return found, nil
}

func (s *store) EachKeyHash(_ context.Context, fn func(petcat.KeyHash) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return s.away
	}
	for hash := range s.credentials {
		if err := fn(hash); err != nil {
			return err
		}
	}
	return nil
}

// catchUp hands over what was put.
func (s *store) catchUp(apply func(petcat.AccessChange)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caughtUp++
	if s.away != nil {
		return s.away
	}
	apply(petcat.AccessChange{Keys: s.changed})
	s.changed = nil
	return nil
}

func (s *store) put(hash petcat.KeyHash, c petcat.Credential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.credentials[hash] = c
	s.changed = append(s.changed, hash)
}

func (s *store) setAway(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
}

// fixture is a keyring, its clock and its store with one active key.
type fixture struct {
	t       testing.TB
	keyring *keyring.Keyring
	clock   *clock.Manual
	store   *store
	key     petcat.GeneratedKey
	holder  petcat.Credential
}

func newFixture(t testing.TB, change ...func(*keyring.Options)) *fixture {
	t.Helper()
	f := &fixture{
		t: t, clock: clock.NewManual(noon), key: generate(t, rand.NewChaCha8([32]byte{1})),
		store: &store{credentials: map[petcat.KeyHash]petcat.Credential{}},
		holder: petcat.Credential{
			Key:     petcat.Key{ID: 34, Account: 12},
			Account: petcat.Account{ID: 12, Plan: petcat.Free, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}},
		},
	}
	f.store.put(f.key.Hash, f.holder)
	f.store.changed = nil
	o := keyring.Options{
		Environment: petcat.Production, Store: f.store, Clock: f.clock,
		CatchUp: func(context.Context) error { return f.store.catchUp(f.keyring.Apply) },
	}
	for _, c := range change {
		c(&o)
	}
	f.keyring = keyring.New(o)
	f.keyring.LoadHashes(t.Context())
	t.Cleanup(f.keyring.Close)
	return f
}

func generate(t testing.TB, random io.Reader) petcat.GeneratedKey {
	t.Helper()
	g, err := petcat.GenerateKey(petcat.Production, random)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (f *fixture) identify(secret string) (*keyring.Caller, error) {
	return f.keyring.Identify(f.t.Context(), secret, f.clock.Read())
}

// wantHolder checks that the fixture's key lets its holder in.
func (f *fixture) wantHolder() *keyring.Caller {
	f.t.Helper()
	c, err := f.identify(f.key.Secret.Reveal())
	if err != nil {
		f.t.Fatalf("refused: %v", err)
	}
	if c.Key != f.holder.Key.ID || c.Account != f.holder.Account.ID || c.Quota != f.holder.Account.Quota || c.Plan != f.holder.Account.Plan {
		f.t.Fatalf("the caller is %+v", c)
	}
	return c
}

// wantRefusal checks the code that a secret gets.
func (f *fixture) wantRefusal(secret string, code petcat.Code) {
	f.t.Helper()
	if _, err := f.identify(secret); petcat.CodeOf(err) != code {
		f.t.Fatalf("code %q, want %q; error %v", petcat.CodeOf(err), code, err)
	}
}

// wantLookups checks how often the store was asked since the last check.
func (f *fixture) wantLookups(n int) {
	f.t.Helper()
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if f.store.lookups != n {
		f.t.Errorf("the store was asked %d times, want %d", f.store.lookups, n)
	}
	f.store.lookups = 0
}
