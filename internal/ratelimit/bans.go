package ratelimit

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/petcat-api/petcat"
)

// bans holds the bans of all keys, and counts early retries on this node.
type bans struct {
	options Options
	clock   *sharedClock

	stop   chan struct{} // closed to stop saving
	saving sync.WaitGroup

	mu   sync.RWMutex
	keys map[petcat.KeyID]*history // only rejected or banned keys; guarded by mu
}

func newBans(o Options, c *sharedClock) *bans {
	return &bans{options: o, clock: c, stop: make(chan struct{}), keys: make(map[petcat.KeyID]*history)}
}

// close waits until all bans are saved, or cannot be.
func (b *bans) close() {
	close(b.stop)
	b.saving.Wait()
}

// history holds a key's recent bans and early retries.
type history struct {
	minute int64 // index of the minute of first and early
	first  int64 // time of the first rejection, nanoseconds
	early  int64 // number of early retries
	ban    petcat.Ban
}

// inForce reports whether the ban is active, whether it is enforced or not. If it would end later than a
// new ban, the clock was set back after it was imposed. It then counts as over, so that a ban never lasts
// longer than announced.
func (h *history) inForce(now int64) bool {
	left := h.ban.EndsAt.Sub(time.Unix(0, now))
	return h.ban.LiftedAt.IsZero() && left > 0 && left <= petcat.BanDuration(h.ban.Level)+time.Minute
}

// end returns the end (Unix time) of the enforced ban of a key, or 0.
func (b *bans) end(key petcat.KeyID) int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	h := b.keys[key]
	if b.options.BanMode != petcat.EnforceBans || h == nil || !h.inForce(b.clock.latest()) {
		return 0
	}
	return h.ban.EndsAt.Unix()
}

// reject returns the decision for a request whose quota is used up. It counts early retries, warns
// and bans.
func (b *bans) reject(c Charge, u Usage) Decision {
	d := u.Decide(u.NextOutcome(), c.Key)
	early, ban := b.retried(c, u.Now)
	switch threshold := petcat.BanThreshold(c.Quota); {
	case ban != nil:
		b.options.Banned(*ban)
		b.saving.Go(func() { b.save(*ban) })
		if !ban.Shadow {
			return u.Banned(ban.EndsAt.Unix(), c.Key)
		}
	case b.options.BanMode == petcat.EnforceBans && 2*early >= threshold:
		d.Warn, d.EarlyRetriesLeft = true, threshold-early
	}
	return d
}

// retried counts a rejected request of a key. It returns the number of early retries, or a new
// ban, one level above the last one. It does not count during a ban.
func (b *bans) retried(c Charge, now int64) (early int64, ban *petcat.Ban) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(c.Key)
	if b.options.BanMode == petcat.BansOff || h.inForce(now) {
		return 0, nil
	}
	if minute := minuteOf(now); h.minute != minute {
		h.minute, h.first, h.early = minute, now, 0
	}
	if now-h.first > int64(petcat.EarlyRetryGrace) {
		h.early++
	}
	if h.early <= petcat.BanThreshold(c.Quota) {
		return h.early, nil
	}
	at := time.Unix(0, now).UTC()
	level := h.ban.Next(at)
	ban = &petcat.Ban{
		Key: c.Key, Account: c.Account, Level: level,
		// The start identifies a ban of a key, and is stored in milliseconds.
		StartedAt:    at.Truncate(time.Millisecond),
		EndsAt:       at.Add(petcat.BanDuration(level) + time.Second - 1).Truncate(time.Second),
		EarlyRetries: int(h.early), Shadow: b.options.BanMode == petcat.ShadowBans,
	}
	h.ban, h.early = *ban, 0
	return 0, ban
}

// apply is [Limiter.ApplyBan]. It ignores bans older than the known ban of the key, keeps a
// lifted ban lifted, and ignores shadow bans if bans are enforced.
func (b *bans) apply(ban petcat.Ban) {
	if b.options.BanMode == petcat.BansOff || ban.Shadow && b.options.BanMode == petcat.EnforceBans {
		return
	}
	ban.StartedAt = ban.StartedAt.Truncate(time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(ban.Key)
	if order := ban.StartedAt.Compare(h.ban.StartedAt); order > 0 || order == 0 && h.ban.LiftedAt.IsZero() {
		h.ban, h.early = ban, 0
	}
}

// history returns the history of a key, and creates it if necessary. The caller must hold mu.
func (b *bans) history(key petcat.KeyID) *history {
	h := b.keys[key]
	if h == nil {
		h = &history{}
		b.keys[key] = h
	}
	return h
}

// sweep removes the keys whose early retries and bans no longer matter.
func (b *bans) sweep(now int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.keys, func(_ petcat.KeyID, h *history) bool {
		return h.minute != minuteOf(now) && (h.ban.Key == 0 || h.ban.Forgotten(time.Unix(0, now)))
	})
}

// save saves a ban in the background, so that requests do not wait for the store; the ban is already in
// force. It retries every second until the ban is over, and once more when the process stops.
func (b *bans) save(ban petcat.Ban) {
	for stopping := false; ; {
		ctx := context.Background() //nolint:forbidigo // a ban outlives its request
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := b.options.SaveBan(ctx, ban)
		cancel()
		if err == nil {
			return
		}
		if stopping || petcat.CodeOf(err) == petcat.CodeNotFound || b.clock.latest() >= ban.EndsAt.UnixNano() {
			b.options.Logger.Error("ban not saved; it ends when this process stops", "key", ban.Key, "error", err)
			return
		}
		select {
		case <-b.stop:
			stopping = true
		case <-time.After(time.Second):
		}
	}
}
