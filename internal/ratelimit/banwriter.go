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

// BanWriter saves bans in the background, so that no request waits for the store. A ban
// is in force from the moment that it is imposed. If the process crashes before it is
// saved, it is lost, which favours the caller. A ban that cannot be saved is retried every
// second until it has ended, and does not delay the others.
type BanWriter struct {
	store    banSaver
	logger   *slog.Logger
	wake     chan struct{} // capacity 1
	stopping chan struct{} // closed by Close
	done     sync.WaitGroup

	mu sync.Mutex
	// waiting holds the last ban of each key that is to be saved: so it has no more
	// room than there are keys. Guarded by mu.
	waiting      map[petcat.KeyID]*unsavedBan
	lastSequence int64 // guarded by mu
}

// unsavedBan is a ban that waits to be saved. After it was put into the map, only
// the writer's goroutine changes it.
type unsavedBan struct {
	petcat.Ban
	sequence int64 // the lowest is tried first
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

// NewBanWriter returns a running writer. Close stops it.
func NewBanWriter(store banSaver, logger *slog.Logger) *BanWriter {
	w := &BanWriter{
		store: store, logger: logger, wake: make(chan struct{}, 1), stopping: make(chan struct{}),
		waiting: make(map[petcat.KeyID]*unsavedBan),
	}
	w.done.Go(w.run)
	return w
}

// Banned takes a ban to be saved, in the place of one of the same key that still
// waits. It does not block.
func (w *BanWriter) Banned(b petcat.Ban) {
	w.mu.Lock()
	w.lastSequence++
	w.waiting[b.Key] = &unsavedBan{Ban: b, sequence: w.lastSequence}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close tries once more to save what waits.
func (w *BanWriter) Close() {
	close(w.stopping)
	w.done.Wait()
}

func (w *BanWriter) run() {
	retry := time.NewTicker(banRetry)
	defer retry.Stop()
	for {
		select {
		case <-w.wake:
			w.saveAll(w.due(false))
		case <-retry.C:
			w.saveAll(w.due(true))
		case <-w.stopping:
			w.saveAll(w.due(true))
			if left := len(w.due(true)); left > 0 {
				w.logger.Error("bans could not be saved and are lost with this process", "bans", left)
			}
			return
		}
	}
}

// due returns the bans to be saved now, in order: all that wait, or those that
// were not tried yet.
func (w *BanWriter) due(all bool) (bans []*unsavedBan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.waiting {
		if all || b.attempts == 0 {
			bans = append(bans, b)
		}
	}
	slices.SortFunc(bans, func(a, b *unsavedBan) int { return cmp.Compare(a.sequence, b.sequence) })
	return bans
}

// saveAll tries each ban once. A store that does not answer one of them in time is
// left alone after that, and asked for the others first the next time.
func (w *BanWriter) saveAll(bans []*unsavedBan) {
	failed := 0
	var first error
	for _, b := range bans {
		b.attempts++
		err := w.attempt(b.Ban)
		switch {
		case err == nil:
			w.forget(b)
		case petcat.CodeOf(err) == petcat.CodeNotFound:
			w.forget(b)
			w.logger.Error("a ban lasts only until the next restart: its key does not exist in the store", "key", b.Key, "error", err)
		case b.attempts >= max(1, int(b.EndsAt.Sub(b.StartedAt)/banRetry)):
			w.forget(b)
			w.logger.Error("a ban ended before it could be saved", "key", b.Key, "error", err)
		case b.attempts == 1:
			if failed++; first == nil {
				first = err
			}
		}
		if errors.Is(err, context.DeadlineExceeded) {
			w.putLast(b)
			break
		}
	}
	if failed > 0 {
		w.logger.Error("bans could not be saved; retrying until they end", "bans", failed, "error", first)
	}
}

// forget drops a ban, unless the key has got another one since.
func (w *BanWriter) forget(b *unsavedBan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[b.Key] == b {
		delete(w.waiting, b.Key)
	}
}

// putLast lets the others of those that wait come first.
func (w *BanWriter) putLast(b *unsavedBan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastSequence++
	b.sequence = w.lastSequence
}

func (w *BanWriter) attempt(b petcat.Ban) error {
	ctx, cancel := context.WithTimeout(context.Background(), banTimeout) //nolint:forbidigo // a ban outlives the request that led to it
	defer cancel()
	return w.store.SaveBan(ctx, b)
}
