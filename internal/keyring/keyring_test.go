package keyring_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
	"github.com/petcat-api/petcat/internal/keyring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// store is a fake store: a list of access changes.
type store struct {
	mu       sync.Mutex
	revision petcat.Revision       // guarded by mu, like the other fields
	all      []petcat.AccessChange // one for each revision
	err      error                 // returned by every call
	slow     time.Duration         // duration of a poll
	loading  func()                // called before Load reads bans, the last; optional
}

func (s *store) change(c petcat.AccessChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	c.Revision = s.revision
	s.all = append(s.all, c)
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *store) Revision(context.Context) (petcat.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision, s.err
}

func each[T any](s *store, of func(petcat.AccessChange) []T, fn func(T) error) error {
	c, err := s.AccessChangesSince(context.Background(), 0)
	for _, v := range of(c) {
		if err == nil {
			err = fn(v)
		}
	}
	return err
}

func (s *store) EachAccount(_ context.Context, fn func(petcat.Account) error) error {
	return each(s, func(c petcat.AccessChange) []petcat.Account { return c.Accounts }, fn)
}

func (s *store) EachKeyAccess(_ context.Context, fn func(petcat.KeyAccess) error) error {
	return each(s, func(c petcat.AccessChange) []petcat.KeyAccess { return c.Keys }, fn)
}

func (s *store) EachBan(_ context.Context, fn func(petcat.Ban) error) error {
	if s.loading != nil {
		s.loading()
	}
	return each(s, func(c petcat.AccessChange) []petcat.Ban { return c.Bans }, fn)
}

func (s *store) AccessChangesSince(_ context.Context, after petcat.Revision) (petcat.AccessChange, error) {
	s.mu.Lock()
	sum, err, slow := petcat.AccessChange{Revision: s.revision}, s.err, s.slow
	for _, c := range s.all {
		if c.Revision > after {
			sum.Accounts = append(sum.Accounts, c.Accounts...)
			sum.Keys = append(sum.Keys, c.Keys...)
			sum.Bans = append(sum.Bans, c.Bans...)
		}
	}
	s.mu.Unlock()
	time.Sleep(slow)
	return sum, err
}

// fixture is a store with one account and its active key, and a keyring.
type fixture struct {
	*keyring.Keyring

	t      testing.TB
	clock  *clocktest.Manual
	store  *store
	log    strings.Builder
	bans   []petcat.Ban
	holder petcat.Account
	key    petcat.KeyAccess
	secret string
}

func generate(t testing.TB, seed byte) petcat.GeneratedKey {
	t.Helper()
	g, err := petcat.GenerateKey(petcat.Production, rand.NewChaCha8([32]byte{seed}))
	must(t, err)
	return g
}

func prepare(t testing.TB) *fixture {
	t.Helper()
	g := generate(t, 1)
	f := &fixture{
		t: t, clock: clocktest.NewManual(noon), store: &store{}, secret: g.Secret.Reveal(),
		holder: petcat.Account{ID: 12, Plan: petcat.Free, Quota: petcat.Quota{PerMinute: 60, PerDay: 1_000}},
		key:    petcat.KeyAccess{Hash: g.Hash, ID: 34, Account: 12},
	}
	f.store.change(petcat.AccessChange{Accounts: []petcat.Account{f.holder}})
	f.store.change(petcat.AccessChange{Keys: []petcat.KeyAccess{f.key}})
	return f
}

func (f *fixture) load() {
	f.t.Helper()
	var err error
	f.Keyring, err = keyring.Load(f.t.Context(), keyring.Options{
		Environment: petcat.Production,
		Store:       f.store,
		Clock:       f.clock,
		Logger:      slog.New(slog.NewTextHandler(&f.log, nil)),
		Ban:         func(b petcat.Ban) { f.bans = append(f.bans, b) },
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func start(t testing.TB) *fixture {
	t.Helper()
	f := prepare(t)
	f.load()
	return f
}

// identify finds the caller of a key, which may be new.
func (f *fixture) identify(secret string) (*keyring.Caller, error) {
	c, err := f.Identify(secret, f.clock.Read())
	if errors.Is(err, keyring.ErrUnknown) {
		c, err = f.IdentifyNew(f.t.Context(), secret, f.clock.Read())
	}
	return c, err
}

// want checks the code for a secret; "" means the caller of the fixture.
func (f *fixture) want(secret string, code petcat.Code) {
	f.t.Helper()
	c, err := f.identify(secret)
	if petcat.CodeOf(err) != code {
		f.t.Fatalf("code %q, want %q; error %v", petcat.CodeOf(err), code, err)
	}
	want := keyring.Caller{Key: f.key.ID, Account: f.holder.ID, Plan: f.holder.Plan, Quota: f.holder.Quota}
	want.ReadOnly = f.key.ReadOnly
	if err == nil && *c != want {
		f.t.Fatalf("the caller is %+v, want %+v", c, want)
	}
}

func TestIdentify(t *testing.T) {
	f := start(t)
	f.want(f.secret, "")
	for i := range len(f.secret) {
		c := byte('0')
		if f.secret[i] == c {
			c = '1'
		}
		f.want(f.secret[:i]+string(c)+f.secret[i+1:], petcat.CodeInvalidAPIKey)
	}
	staging, err := petcat.GenerateKey(petcat.Staging, rand.NewChaCha8([32]byte{}))
	must(t, err)
	other := generate(t, 2).Secret.Reveal()
	for _, credential := range []string{"", "pck_live_", f.secret + "0", staging.Secret.Reveal(), other} {
		f.want(credential, petcat.CodeInvalidAPIKey)
	}
}

func TestStates(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*petcat.KeyAccess, *petcat.Account)
		code   petcat.Code
	}{
		"active":       {func(*petcat.KeyAccess, *petcat.Account) {}, ""},
		"read-only":    {func(k *petcat.KeyAccess, _ *petcat.Account) { k.ReadOnly = true }, ""},
		"another plan": {func(_ *petcat.KeyAccess, a *petcat.Account) { a.Plan, a.Quota.PerDay = petcat.Pro, 5 }, ""},
		"expires later": {func(k *petcat.KeyAccess, _ *petcat.Account) {
			k.ExpiresAt = noon.Add(time.Millisecond)
		}, ""},
		"expires after 2262": {func(k *petcat.KeyAccess, _ *petcat.Account) {
			k.ExpiresAt = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		}, ""},
		"expired": {func(k *petcat.KeyAccess, _ *petcat.Account) {
			k.ExpiresAt = noon
		}, petcat.CodeExpiredAPIKey},
		"disabled": {func(k *petcat.KeyAccess, _ *petcat.Account) {
			k.Disabled = true
		}, petcat.CodeDisabledAPIKey},
		"expired and disabled": {func(k *petcat.KeyAccess, _ *petcat.Account) {
			k.Disabled, k.ExpiresAt = true, noon
		}, petcat.CodeExpiredAPIKey},
		"revoked and expired": {func(k *petcat.KeyAccess, _ *petcat.Account) {
			k.Revoked, k.ExpiresAt = true, noon
		}, petcat.CodeRevokedAPIKey},
		"closed account": {func(_ *petcat.KeyAccess, a *petcat.Account) {
			a.ClosedAt = noon
		}, petcat.CodeRevokedAPIKey},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			c.change(&f.key, &f.holder)
			f.store.change(petcat.AccessChange{Keys: []petcat.KeyAccess{f.key}, Accounts: []petcat.Account{f.holder}})
			f.Poll(t.Context())
			f.want(f.secret, c.code)
			f.load() // a new process
			f.want(f.secret, c.code)
		})
	}
}

// TestManyKeys: all keys are found, and no others.
func TestManyKeys(t *testing.T) {
	f := prepare(t)
	secrets := make(map[petcat.KeyID]petcat.GeneratedKey)
	random := rand.NewChaCha8([32]byte{9})
	for n := range 3_000 {
		g, err := petcat.GenerateKey(petcat.Production, random)
		must(t, err)
		id := petcat.KeyID(n + 100)
		secrets[id] = g
		if n%2 == 0 { // the other ids are skipped
			f.store.change(petcat.AccessChange{Keys: []petcat.KeyAccess{{Hash: g.Hash, ID: id, Account: 12}}})
		}
	}
	f.load()
	if f.Keys() != 1_501 {
		t.Errorf("got %d keys, want 1,501", f.Keys())
	}
	for id, g := range secrets {
		c, err := f.identify(g.Secret.Reveal())
		known, unknown := err == nil && c.Key == id, petcat.CodeOf(err) == petcat.CodeInvalidAPIKey
		if exists := id%2 == 0; exists && !known || !exists && !unknown {
			t.Fatalf("%s: %+v, %v", id, c, err)
		}
	}
}

// TestChangeDuringLoad: changes during Load are not missed.
func TestChangeDuringLoad(t *testing.T) {
	f := prepare(t)
	g := generate(t, 2)
	f.store.loading = func() {
		f.store.change(petcat.AccessChange{
			Accounts: []petcat.Account{{ID: 13, Plan: petcat.Pro}},
			Keys:     []petcat.KeyAccess{{Hash: g.Hash, ID: 35, Account: 13}},
		})
	}
	f.load()
	f.want(g.Secret.Reveal(), petcat.CodeInvalidAPIKey)
	f.Poll(t.Context())
	if c, err := f.identify(g.Secret.Reveal()); err != nil || c.Account != 13 || c.Plan != petcat.Pro {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestBans(t *testing.T) {
	f := prepare(t)
	f.store.change(petcat.AccessChange{Bans: []petcat.Ban{{Key: 34, Level: 1}}})
	f.load()
	f.store.change(petcat.AccessChange{Bans: []petcat.Ban{{Key: 34, Level: 1, LiftedAt: noon}}})
	f.Poll(t.Context())
	if len(f.bans) != 2 || !f.bans[0].LiftedAt.IsZero() || f.bans[1].LiftedAt.IsZero() {
		t.Errorf("got the bans %+v", f.bans)
	}
}

// TestOldKeysAreNotTrusted: keys are not trusted after 30 s without a response from the store, until the
// next response.
func TestOldKeysAreNotTrusted(t *testing.T) {
	f := start(t)
	f.store.fail(errors.New("down"))
	f.clock.Advance(keyring.MaxAge)
	f.Poll(t.Context())
	f.Poll(t.Context())
	f.want(f.secret, "")
	f.clock.Advance(1)
	f.want(f.secret, petcat.CodeServiceUnavailable)
	f.want("pck_live_", petcat.CodeInvalidAPIKey)
	if f.Trusted() {
		t.Error("Trusted returned true")
	}
	f.store.fail(nil)
	f.Poll(t.Context())
	f.want(f.secret, "")
	log := f.log.String()
	if strings.Count(log, "failed; retrying") != 1 || strings.Count(log, "succeeded again") != 1 {
		t.Errorf("got the log %s", log)
	}
}

func TestLoadFails(t *testing.T) {
	f := prepare(t)
	f.store.fail(errors.New("down"))
	_, err := keyring.Load(t.Context(), keyring.Options{
		Environment: petcat.Production,
		Store:       f.store,
		Clock:       f.clock,
		Ban:         func(petcat.Ban) {},
	})
	if !errors.Is(err, f.store.err) {
		t.Errorf("got %v", err)
	}
}

// TestFollow: changes are applied after a fifth of a second, or when CatchUp returns. Requests with
// an unknown key wait for the next poll, because the key may be new.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		follow := f.Follow()
		began := time.Now()
		elapsed := func(want time.Duration) {
			t.Helper()
			if got := time.Since(began); got != want {
				t.Errorf("after %s, want %s", got, want)
			}
			began = time.Now()
		}
		revoke := func(revoked bool) {
			f.key.Revoked = revoked
			f.store.change(petcat.AccessChange{Keys: []petcat.KeyAccess{f.key}})
		}
		revoke(true)
		caughtUp := make(chan struct{})
		go func() { defer close(caughtUp); f.CatchUp(t.Context()) }()
		synctest.Wait() // it waits, although the polls have not begun
		go func() { defer close(ended); follow(ctx) }()
		<-caughtUp
		f.want(f.secret, petcat.CodeRevokedAPIKey)
		elapsed(0)
		revoke(false)
		f.want(generate(t, 2).Secret.Reveal(), petcat.CodeInvalidAPIKey)
		f.want(f.secret, "")
		elapsed(200 * time.Millisecond)
		g := generate(t, 3)
		f.store.change(petcat.AccessChange{Keys: []petcat.KeyAccess{{Hash: g.Hash, ID: 35, Account: 12}}})
		if c, err := f.identify(g.Secret.Reveal()); err != nil || c.Key != 35 {
			t.Errorf("for a new key, got %+v, %v", c, err)
		}
		elapsed(200 * time.Millisecond)

		f.store.mu.Lock()
		f.store.slow = time.Minute
		f.store.mu.Unlock()
		f.want(generate(t, 2).Secret.Reveal(), petcat.CodeInvalidAPIKey)
		elapsed(time.Second)
		stop()
		<-ended
		f.want(generate(t, 2).Secret.Reveal(), petcat.CodeInvalidAPIKey) // there are no more polls
	})
}
