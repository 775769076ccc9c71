package keyring_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"petcat"
)

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
