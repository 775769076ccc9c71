package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"petcat"
)

// BanKeeper saves bans in the background, so that no request waits for the store. A ban
// is in force from the moment that it is imposed. If the process crashes before it is
// saved, it is lost, which favours the caller. A ban that cannot be saved is retried every
// second until it has ended, and does not delay the others.
type BanKeeper struct {
	store    banSaver
	logger   *slog.Logger
	wake     chan struct{} // capacity 1
	stopping chan struct{} // closed by Close
	done     sync.WaitGroup

	mu sync.Mutex
	// waiting holds the last ban of each key that is to be saved: so it has no more
	// room than there are keys. Guarded by mu.
	waiting map[petcat.KeyID]*unsavedBan
	turns   int64 // given out; guarded by mu
}

// unsavedBan is a ban that waits to be saved. After it was put into the map, only
// the keeper's goroutine changes it.
type unsavedBan struct {
	petcat.Ban
	turn     int64 // the lowest is tried first
	attempts int
}

type banSaver interface {
	SaveBan(ctx context.Context, b petcat.Ban) error
}

const (
	// banRetry is the pause after a store did not save some.
	banRetry = time.Second
	// banTimeout bounds one attempt, so that a store that hangs cannot delay the
	// shutdown.
	banTimeout = 5 * time.Second
)

// NewBanKeeper returns a running keeper. Close stops it.
func NewBanKeeper(store banSaver, logger *slog.Logger) *BanKeeper {
	k := &BanKeeper{
		store: store, logger: logger, wake: make(chan struct{}, 1), stopping: make(chan struct{}),
		waiting: make(map[petcat.KeyID]*unsavedBan),
	}
	k.done.Go(k.run)
	return k
}

// Banned takes a ban to be saved, in the place of one of the same key that still
// waits. It does not block.
func (k *BanKeeper) Banned(b petcat.Ban) {
	k.mu.Lock()
	k.turns++
	k.waiting[b.Key] = &unsavedBan{Ban: b, turn: k.turns}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Close tries once more to save what waits.
func (k *BanKeeper) Close() {
	close(k.stopping)
	k.done.Wait()
}

func (k *BanKeeper) run() {
	retry := time.NewTicker(banRetry)
	defer retry.Stop()
	for {
		select {
		case <-k.wake:
			k.saveAll(k.due(false))
		case <-retry.C:
			k.saveAll(k.due(true))
		case <-k.stopping:
			k.saveAll(k.due(true))
			if left := len(k.due(true)); left > 0 {
				k.logger.Error("bans could not be saved and are lost with this process", "bans", left)
			}
			return
		}
	}
}

// due returns the bans to be saved now, in their turn: all that wait, or those that
// were not tried yet.
func (k *BanKeeper) due(all bool) (bans []*unsavedBan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, b := range k.waiting {
		if all || b.attempts == 0 {
			bans = append(bans, b)
		}
	}
	slices.SortFunc(bans, func(a, b *unsavedBan) int { return cmp.Compare(a.turn, b.turn) })
	return bans
}

// saveAll tries each ban once. A store that does not answer one of them in time is
// left alone after that, and asked for the others first the next time.
func (k *BanKeeper) saveAll(bans []*unsavedBan) {
	failed := 0
	var first error
	for _, b := range bans {
		b.attempts++
		err := k.attempt(b.Ban)
		switch {
		case err == nil:
			k.forget(b)
		case petcat.CodeOf(err) == petcat.CodeNotFound:
			k.forget(b)
			k.logger.Error("a ban lasts only until the next restart: its key does not exist in the store", "key", b.Key, "error", err)
		case b.attempts >= max(1, int(b.EndsAt.Sub(b.StartedAt)/banRetry)):
			k.forget(b)
			k.logger.Error("a ban ended before it could be saved", "key", b.Key, "error", err)
		case b.attempts == 1:
			if failed++; first == nil {
				first = err
			}
		}
		if errors.Is(err, context.DeadlineExceeded) {
			k.putLast(b)
			break
		}
	}
	if failed > 0 {
		k.logger.Error("bans could not be saved; retrying until they end", "bans", failed, "error", first)
	}
}

// forget drops a ban, unless the key has got another one since.
func (k *BanKeeper) forget(b *unsavedBan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting[b.Key] == b {
		delete(k.waiting, b.Key)
	}
}

// putLast lets the others of those that wait come first.
func (k *BanKeeper) putLast(b *unsavedBan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turns++
	b.turn = k.turns
}

func (k *BanKeeper) attempt(b petcat.Ban) error {
	ctx, cancel := context.WithTimeout(context.Background(), banTimeout) //nolint:forbidigo // a ban outlives the request that led to it
	defer cancel()
	return k.store.SaveBan(ctx, b)
}
