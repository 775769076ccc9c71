package keyring_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/keyring"
)

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
