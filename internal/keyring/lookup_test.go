package keyring_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/keyring"
)

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

// TestAnsweredQuestionIsNotShared: who asks when there is an answer is not told that one, which
// may be out of date. Others ask all the time, so that the next question has to wait.
func TestAnsweredQuestionIsNotShared(t *testing.T) {
	f := newFixture(t)
	f.clock.Advance(30*time.Second + time.Millisecond) // every request asks
	revoked := f.holder
	revoked.Key.RevokedAt = noon
	var others sync.WaitGroup
	defer others.Wait()
	var ended atomic.Bool
	defer ended.Store(true)
	keys := make([]petcat.GeneratedKey, 8)
	for i := range keys {
		keys[i] = generate(t, rand.NewChaCha8([32]byte{3, byte(i)}))
		f.store.put(keys[i].Hash, f.holder)
	}
	f.keyring.LoadHashes(t.Context())
	for _, other := range keys {
		others.Go(func() {
			for !ended.Load() {
				_, _ = f.identify(other.Secret.Reveal())
			}
		})
	}
	for range 5_000 {
		f.wantHolder()
		f.store.put(f.key.Hash, revoked)
		f.wantRefusal(f.key.Secret.Reveal(), petcat.CodeRevokedAPIKey)
		f.store.put(f.key.Hash, f.holder)
	}
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
