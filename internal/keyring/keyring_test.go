package keyring_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
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

func TestIdentifyAsksOnce(t *testing.T) {
	f := newFixture(t)
	first := f.wantHolder()
	for range 100 {
		if again := f.wantHolder(); again != first {
			t.Fatal("another caller")
		}
	}
	f.wantLookups(1)
	if s := f.keyring.Stats(); s != (keyring.Stats{Known: 1, Lookups: 1, Trusted: true}) {
		t.Errorf("stats %+v", s)
	}
}

func TestIdentifyRefusesWithoutTheStore(t *testing.T) {
	f := newFixture(t)
	good := f.key.Secret.Reveal()
	for i := range len(good) {
		c := byte('0')
		if good[i] == c {
			c = '1'
		}
		f.wantRefusal(good[:i]+string(c)+good[i+1:], petcat.CodeInvalidAPIKey)
	}
	staging, err := petcat.GenerateKey(petcat.Staging, rand.NewChaCha8([32]byte{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, credential := range []string{"", "pck_live_", good + "0", staging.Secret.Reveal()} {
		f.wantRefusal(credential, petcat.CodeInvalidAPIKey)
	}
	f.wantLookups(0)
}

func TestUnknownKeysAreNotLookedUp(t *testing.T) {
	f := newFixture(t)
	unknown := generate(t, rand.NewChaCha8([32]byte{2}))
	for range 10 {
		f.wantRefusal(unknown.Secret.Reveal(), petcat.CodeInvalidAPIKey)
	}
	f.wantLookups(0)
	// As another process does, which the change log has not told of yet.
	f.store.put(unknown.Hash, petcat.Credential{Key: petcat.Key{ID: 5}, Account: petcat.Account{ID: 6}})
	if c, err := f.identify(unknown.Secret.Reveal()); err != nil || c.Key != 5 {
		t.Errorf("a key that was made a moment ago: caller %+v, error %v", c, err)
	}
	f.wantLookups(1)
}

// Until all keys have been read, none is refused without a look.
func TestUnlearned(t *testing.T) {
	f := newFixture(t)
	k := keyring.New(keyring.Options{
		Environment: petcat.Production, Store: f.store, Clock: f.clock,
		CatchUp: func(context.Context) error { return errors.New("not to be asked") },
	})
	defer k.Close()
	if _, err := k.Identify(t.Context(), f.key.Secret.Reveal(), f.clock.Read()); err != nil {
		t.Errorf("a key: %v", err)
	}
	if _, err := k.Identify(t.Context(), forge(t, 1)[0], f.clock.Read()); petcat.CodeOf(err) != petcat.CodeInvalidAPIKey {
		t.Errorf("no key: %v", err)
	}
	f.wantLookups(2)
}

func TestLearnTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.store.setAway(errors.New("away"))
		k := keyring.New(keyring.Options{
			Environment: petcat.Production, Store: f.store, Clock: f.clock,
			CatchUp: func(context.Context) error { return nil },
		})
		defer k.Close()
		done := make(chan struct{})
		go func() { defer close(done); k.LoadHashes(t.Context()) }()
		time.Sleep(1500 * time.Millisecond)
		f.store.setAway(nil)
		<-done
		f.wantLookups(0)
		if _, err := k.Identify(t.Context(), forge(t, 1)[0], f.clock.Read()); petcat.CodeOf(err) != petcat.CodeInvalidAPIKey {
			t.Error(err)
		}
		f.wantLookups(0)
	})
}

// All who come first with their keys while the store is being asked share the
// next lookup, and those with the same key the same look-up.
func TestLookupsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		answer := make(chan struct{})
		f.store.answering = func(context.Context) { <-answer }
		keys := make([]string, 5)
		for i := range keys {
			key := generate(t, rand.NewChaCha8([32]byte{5, byte(i)}))
			keys[i] = key.Secret.Reveal()
			f.store.put(key.Hash, f.holder)
		}
		var all sync.WaitGroup
		come := func(key string) {
			all.Go(func() {
				if _, err := f.identify(key); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for range 10 {
			come(keys[0])
		}
		for range 10 {
			for _, key := range keys {
				come(key)
			}
		}
		answer <- struct{}{}
		close(answer)
		all.Wait()
		f.wantLookups(2)
		if s := f.keyring.Stats(); s.Lookups != 5 || s.Known != 5 {
			t.Errorf("%d keys were looked up and %d kept; want 5", s.Lookups, s.Known)
		}
	})
}

// A caller who goes away leaves the look-up to the others who wait for it.
func TestCallerGoneFromAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		answer := make(chan struct{})
		f.store.answering = func(ctx context.Context) {
			select {
			case <-answer:
			case <-ctx.Done():
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := f.keyring.Identify(ctx, f.key.Secret.Reveal(), f.clock.Read()); !errors.Is(err, context.Canceled) {
				t.Errorf("who went away: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() { f.wantHolder() })
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(answer)
		all.Wait()
		f.wantLookups(1)
	})
}

// Who guesses and does not wait for the answer is told what is known without it:
// it counts as a guess.
func TestGuessThatGoesAway(t *testing.T) {
	f := newFixture(t, func(o *keyring.Options) {
		o.CatchUp = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.keyring.Identify(ctx, forge(t, 1)[0], f.clock.Read())
	if petcat.CodeOf(err) != petcat.CodeInvalidAPIKey || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestStates(t *testing.T) {
	past := noon.Add(-time.Hour)
	for _, c := range []struct {
		name    string
		key     petcat.Key
		account petcat.Account
		code    petcat.Code
	}{
		{"active", petcat.Key{}, petcat.Account{}, ""},
		{"expires later", petcat.Key{ExpiresAt: noon.Add(time.Millisecond)}, petcat.Account{}, ""},
		{"expires after 2262", petcat.Key{ExpiresAt: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}, petcat.Account{}, ""},
		{"expired", petcat.Key{ExpiresAt: noon}, petcat.Account{}, petcat.CodeExpiredAPIKey},
		{"disabled", petcat.Key{DisabledAt: past}, petcat.Account{}, petcat.CodeDisabledAPIKey},
		{"revoked", petcat.Key{RevokedAt: past}, petcat.Account{}, petcat.CodeRevokedAPIKey},
		{"revoked and expired", petcat.Key{RevokedAt: past, ExpiresAt: past}, petcat.Account{}, petcat.CodeRevokedAPIKey},
		{"of a closed account", petcat.Key{}, petcat.Account{ClosedAt: past}, petcat.CodeRevokedAPIKey},
		{"disabled, of a closed account", petcat.Key{DisabledAt: past}, petcat.Account{ClosedAt: past}, petcat.CodeRevokedAPIKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.store.put(f.key.Hash, petcat.Credential{Key: c.key, Account: c.account})
			// What is refused is remembered, too.
			for range 3 {
				f.wantRefusal(f.key.Secret.Reveal(), c.code)
			}
			f.wantLookups(1)
		})
	}
}

// What is final is told before what is not, in the same order as the domain's.
func TestExpiredAndDisabled(t *testing.T) {
	f := newFixture(t)
	key := petcat.Key{DisabledAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(time.Hour)}
	f.store.put(f.key.Hash, petcat.Credential{Key: key})
	f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeOf(key.State(noon).Err()))
	f.clock.Advance(time.Hour)
	f.keyring.Polled(f.clock.Read())
	f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeOf(key.State(noon.Add(time.Hour)).Err()))
}

func TestExpiryComesByItself(t *testing.T) {
	f := newFixture(t)
	holder := f.holder
	holder.Key.ExpiresAt = noon.Add(time.Hour)
	f.store.put(f.key.Hash, holder)
	f.wantHolder()
	f.store.setAway(errors.New("away"))
	f.clock.Advance(time.Hour - 1)
	f.keyring.Polled(f.clock.Read())
	f.wantHolder()
	f.clock.Advance(1)
	f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeExpiredAPIKey)
	f.wantLookups(1)
}

func TestApplyForgets(t *testing.T) {
	business := petcat.Account{ID: 12, Plan: petcat.Business, Quota: petcat.Quota{PerMinute: 1_000, PerDay: 100_000}}
	for _, c := range []struct {
		name   string
		change petcat.AccessChange
		asks   int
	}{
		{"the key", petcat.AccessChange{Keys: []petcat.KeyHash{{}, newFixture(t).key.Hash}}, 1},
		{"the account", petcat.AccessChange{Accounts: []petcat.AccountID{3, 12}}, 1},
		{"another key", petcat.AccessChange{Keys: []petcat.KeyHash{{1}}}, 0},
		{"another account", petcat.AccessChange{Accounts: []petcat.AccountID{13}}, 0},
		{"a ban", petcat.AccessChange{Bans: []petcat.Ban{{Key: 34, Account: 12}}}, 0},
		{"nothing", petcat.AccessChange{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.wantHolder()
			f.wantLookups(1)
			f.store.put(f.key.Hash, petcat.Credential{Key: f.holder.Key, Account: business})
			f.keyring.Apply(c.change)
			if c.asks > 0 {
				f.holder.Account = business
			}
			f.wantHolder()
			f.wantLookups(c.asks)
		})
	}
}

// A look-up that began before a change must not be kept after it: it may have
// read the state before. Nor may who came after the change be answered by it.
func TestChangeDuringLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		answer := make(chan struct{})
		f.store.answering = func(context.Context) { <-answer }
		var all sync.WaitGroup
		all.Go(func() { _, _ = f.identify(f.key.Secret.Reveal()) }) // asked before the change: either answer is right
		synctest.Wait()
		f.store.put(f.key.Hash, petcat.Credential{Key: petcat.Key{ID: 34, RevokedAt: noon}, Account: f.holder.Account})
		f.keyring.Apply(petcat.AccessChange{Keys: []petcat.KeyHash{f.key.Hash}})
		all.Go(func() { f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeRevokedAPIKey) })
		synctest.Wait()
		close(answer)
		all.Wait()
		f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeRevokedAPIKey)
		f.wantLookups(2)
	})
}

// The same with real concurrency: after Apply has returned, nobody is answered
// from before the change.
func TestChangeDuringLookupInParallel(t *testing.T) {
	f := newFixture(t)
	for i := range 300 {
		// Unknown at first, then known: both kinds of memory take part.
		key := generate(t, rand.NewChaCha8([32]byte{4, byte(i), byte(i >> 8)}))
		var asking sync.WaitGroup
		for range 3 {
			asking.Go(func() { _, _ = f.identify(key.Secret.Reveal()) })
		}
		f.store.put(key.Hash, f.holder)
		f.keyring.Apply(petcat.AccessChange{Keys: []petcat.KeyHash{key.Hash}})
		if _, err := f.identify(key.Secret.Reveal()); err != nil {
			t.Fatalf("after the key was made known: %v", err)
		}
		asking.Wait()
		if _, err := f.identify(key.Secret.Reveal()); err != nil {
			t.Fatalf("after all look-ups had ended: %v", err)
		}
	}
}

func TestTrust(t *testing.T) {
	f := newFixture(t)
	unknown := generate(t, rand.NewChaCha8([32]byte{2})).Secret.Reveal()
	f.wantHolder()
	f.wantRefusal(unknown, petcat.CodeInvalidAPIKey)
	f.wantLookups(1)

	f.clock.Advance(30 * time.Second)
	f.wantHolder() // still
	f.wantLookups(0)
	if !f.keyring.Stats().Trusted {
		t.Error("the statistics do not say trusted")
	}

	f.clock.Advance(time.Millisecond)
	t.Run("lapsed: every request asks", func(t *testing.T) {
		for range 3 {
			f.wantHolder()
			f.wantRefusal(unknown, petcat.CodeInvalidAPIKey)
		}
		f.wantLookups(3)
		if f.keyring.Stats().Trusted {
			t.Error("the statistics say trusted")
		}
	})
	t.Run("lapsed, and the store is away: nobody gets in", func(t *testing.T) {
		f.store.setAway(errors.New("the disk is gone"))
		defer f.store.setAway(nil)
		f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeServiceUnavailable)
		f.wantRefusal(unknown, petcat.CodeServiceUnavailable)
		f.wantLookups(1)
	})
	t.Run("a revocation is obeyed at once", func(t *testing.T) {
		revoked := f.holder
		revoked.Key.RevokedAt = noon
		f.store.put(f.key.Hash, revoked)
		f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeRevokedAPIKey)
		f.store.put(f.key.Hash, f.holder)
		f.wantHolder()
		f.wantLookups(2)
	})
	t.Run("heard again: from memory again", func(t *testing.T) {
		f.keyring.Polled(f.clock.Read())
		f.wantHolder()
		f.wantLookups(0)
		if !f.keyring.Stats().Trusted {
			t.Error("the statistics do not say trusted")
		}
	})
	t.Run("a step of the wall clock changes nothing", func(t *testing.T) {
		f.clock.Step(48 * time.Hour)
		f.wantHolder()
		f.clock.Step(-96 * time.Hour)
		f.wantHolder()
		f.wantLookups(0)
	})
}

func TestStoreAway(t *testing.T) {
	f := newFixture(t)
	f.store.setAway(errors.New("no such file"))
	f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeServiceUnavailable)
	f.store.setAway(nil)
	f.wantHolder() // the failure was not remembered
	f.store.setAway(errors.New("no such file"))
	f.wantHolder() // what is trusted needs no store
}

func TestLookupTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.store.answering = func(ctx context.Context) { <-ctx.Done() }
		began := time.Now()
		f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeServiceUnavailable)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the answer took %s, want 2s", took)
		}
	})
}

// A caller who goes away is not a store that is unavailable.
func TestCallerGone(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.store.answering = func(context.Context) { cancel() }
	_, err := f.keyring.Identify(ctx, f.key.Secret.Reveal(), f.clock.Read())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	f.store.answering = nil
	f.wantHolder()
}

// forge returns well-formed keys that nobody holds, as an attacker would.
func forge(t testing.TB, n int) []string {
	t.Helper()
	out := make([]string, n)
	for i := range out {
		out[i] = generate(t, &counter{next: uint64(i)}).Secret.Reveal()
	}
	return out
}

// counter is a source of bytes that differ from one number to the next.
type counter struct{ next uint64 }

func (c *counter) Read(p []byte) (int, error) {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], c.next*0x9e3779b97f4a7c15)
	for i := range p {
		p[i] = number[i%8] % 62
	}
	return len(p), nil
}

func TestMemoryIsBounded(t *testing.T) {
	const most = 10_000
	f := newFixture(t, func(o *keyring.Options) { o.MaxEntries = most })
	f.wantHolder()
	f.wantLookups(1)
	for _, key := range forge(t, 1<<17) {
		f.wantRefusal(key, petcat.CodeInvalidAPIKey)
	}
	// Strangers leave nothing behind, and do not push out those who belong here.
	if s := f.keyring.Stats(); s.Known != 1 {
		t.Errorf("%d keys are kept, want 1", s.Known)
	}
	f.wantHolder()
	f.wantLookups(0)

	for _, key := range forge(t, 3*most) {
		hash, err := petcat.ParseKey(petcat.Production, key)
		if err != nil {
			t.Fatal(err)
		}
		f.store.put(hash, f.holder)
		if _, err := f.identify(key); err != nil {
			t.Fatal(err)
		}
	}
	if s := f.keyring.Stats(); s.Known > most || s.Known < most/2 {
		t.Errorf("%d known keys are kept, want at most %d and not far fewer", s.Known, most)
	}
}

func BenchmarkIdentify(b *testing.B) {
	f := newFixture(b)
	key, now := f.key.Secret.Reveal(), f.clock.Read()
	unknown := forge(b, 1)[0]
	bad := key[:len(key)-1] + "!"
	for name, secret := range map[string]string{"known": key, "unknown": unknown, "bad checksum": bad} {
		b.Run(name, func(b *testing.B) {
			_, _ = f.keyring.Identify(b.Context(), secret, now)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = f.keyring.Identify(b.Context(), secret, now)
			}
		})
	}
}
