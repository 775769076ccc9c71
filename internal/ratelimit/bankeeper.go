package ratelimit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"petcat"
)

// BanKeeper makes bans durable behind the back of the requests that brought
// them about. A ban holds from the moment that it is imposed; until it is
// saved, a crash forgets it, which favours the caller.
type BanKeeper struct {
	store    banSaver
	logger   *slog.Logger
	queue    chan petcat.Ban
	stopping chan struct{} // closed by Close
	done     sync.WaitGroup
}

type banSaver interface {
	SaveBan(ctx context.Context, b petcat.Ban) error
}

const (
	// banQueue is how many bans may wait to be saved. A ban takes dozens of
	// refused requests, so this many at once is far from any load that one
	// process can answer.
	banQueue = 1024
	// banRetry is the pause after a store did not save one.
	banRetry = time.Second
	// banPatience bounds one attempt, so that a store that hangs cannot hold up
	// the end of the process.
	banPatience = 5 * time.Second
)

// NewBanKeeper returns a running keeper. Close stops it.
func NewBanKeeper(store banSaver, logger *slog.Logger) *BanKeeper {
	k := &BanKeeper{store: store, logger: logger, queue: make(chan petcat.Ban, banQueue), stopping: make(chan struct{})}
	k.done.Go(k.run)
	return k
}

// Banned takes a ban to be saved. It does not block: when too many wait, the
// ban holds in memory alone, and the log says so.
func (k *BanKeeper) Banned(b petcat.Ban) {
	select {
	case k.queue <- b:
	default:
		k.logger.Error("a ban holds only until the next restart: too many wait to be saved", "key", b.Key, "ends_at", b.EndsAt)
	}
}

// Close saves what waits, without trying again where that fails.
func (k *BanKeeper) Close() {
	close(k.stopping)
	k.done.Wait()
}

func (k *BanKeeper) run() {
	for {
		select {
		case b := <-k.queue:
			k.save(b)
		case <-k.stopping:
			for {
				select {
				case b := <-k.queue:
					k.save(b)
				default:
					return
				}
			}
		}
	}
}

// save tries until the ban is saved or has ended. A ban of a key that the store
// does not know is given up: it must not hold up those behind it.
func (k *BanKeeper) save(b petcat.Ban) {
	attempts := max(1, int(b.EndsAt.Sub(b.StartedAt)/banRetry))
	for i := range attempts {
		err := k.attempt(b)
		if err == nil {
			return
		}
		if petcat.CodeOf(err) == petcat.CodeNotFound {
			k.logger.Error("a ban holds only until the next restart: the store does not know its key", "key", b.Key, "error", err)
			return
		}
		if i == 0 {
			k.logger.Error("a ban could not be saved; trying again until it ends", "key", b.Key, "error", err)
		}
		select {
		case <-time.After(banRetry):
		case <-k.stopping:
			return
		}
	}
}

func (k *BanKeeper) attempt(b petcat.Ban) error {
	ctx, cancel := context.WithTimeout(context.Background(), banPatience) //nolint:forbidigo // a ban outlives the request that led to it
	defer cancel()
	return k.store.SaveBan(ctx, b)
}
