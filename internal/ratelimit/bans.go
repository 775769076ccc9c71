package ratelimit

import (
	"context"
	"maps"
	"sync"
	"time"

	"petcat"
)

// bans knows the bans of all keys, and counts the early retries that keys make on this node.
type bans struct {
	Options

	stop   chan struct{} // closed to end saving
	saving sync.WaitGroup

	mu   sync.RWMutex
	keys map[petcat.KeyID]*history // guarded by mu; only keys that were refused or banned
}

// history is a key's recent bans and early retries.
type history struct {
	minute int64 // index of the minute of first and early
	first  int64 // when the key was first refused, nanoseconds
	early  int64 // its early retries
	ban    petcat.Ban
}

// inForce reports whether the ban, enforced or not, has not ended. A ban that ends later
// than a new one would was imposed before the clock was set back, and is over: nobody is
// shut out for longer than announced.
func (h *history) inForce(now int64) bool {
	at := time.Unix(0, now)
	return h.ban.LiftedAt.IsZero() && at.Before(h.ban.EndsAt) && h.ban.EndsAt.Sub(at) <= petcat.BanDuration(h.ban.Level)+time.Minute
}

// end returns the end (a Unix second) of the ban that a key serves, or 0.
func (b *bans) end(key petcat.KeyID) int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	h := b.keys[key]
	if b.Bans != petcat.EnforceBans || h == nil || !h.inForce(b.Clock.Read().Wall) {
		return 0
	}
	return h.ban.EndsAt.Unix()
}

// refuse answers a request that a spent quota refuses. It counts early retries, warns and
// bans.
func (b *bans) refuse(c Charge, u Usage) Decision {
	d := u.Answer(u.Verdict(), c.Key)
	early, ban := b.retried(c, u.Now)
	switch threshold := petcat.BanThreshold(c.Quota); {
	case ban != nil:
		b.Banned(*ban)
		b.saving.Go(func() { b.save(*ban) })
		if !ban.Shadow {
			return u.Banned(ban.EndsAt.Unix(), c.Key)
		}
	case b.Bans == petcat.EnforceBans && 2*early >= threshold:
		d.Warn, d.EarlyRetriesLeft = true, threshold-early
	}
	return d
}

// retried counts a refused request of a key. It returns the key's early retries, or the ban
// that they lead to, one level above the last. While a ban is in force, nothing adds to it.
func (b *bans) retried(c Charge, now int64) (early int64, ban *petcat.Ban) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(c.Key)
	if b.Bans == petcat.BansOff || h.inForce(now) {
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
		// Stores keep milliseconds; the start must come back from them unchanged, because
		// it tells one ban of a key from another.
		StartedAt:    at.Truncate(time.Millisecond),
		EndsAt:       at.Add(petcat.BanDuration(level) + time.Second - 1).Truncate(time.Second),
		EarlyRetries: int(h.early), Shadow: b.Bans == petcat.ShadowBans,
	}
	h.ban, h.early = *ban, 0
	return 0, ban
}

// apply makes a ban hold that was imposed, lifted or loaded elsewhere. An older ban than
// the known one changes nothing, and a lifted ban stays lifted. A limiter that enforces
// bans has no use for shadow bans.
func (b *bans) apply(ban petcat.Ban) {
	if b.Bans == petcat.BansOff || ban.Shadow && b.Bans == petcat.EnforceBans {
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

// history returns what is remembered of a key, and begins to remember it. The caller holds
// mu.
func (b *bans) history(key petcat.KeyID) *history {
	h := b.keys[key]
	if h == nil {
		h = &history{}
		b.keys[key] = h
	}
	return h
}

// sweep forgets the keys whose early retries and bans no longer matter.
func (b *bans) sweep(now int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.keys, func(_ petcat.KeyID, h *history) bool {
		return h.minute != minuteOf(now) && (h.ban.Key == 0 || h.ban.Forgotten(time.Unix(0, now)))
	})
}

// save saves a ban in the background: no request waits for the store, and a ban holds from
// the moment that it is imposed. If it cannot be saved, it is tried again each second until
// it has ended, and once more at the end of the process.
func (b *bans) save(ban petcat.Ban) {
	for stopping := false; ; {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:forbidigo // a ban outlives the request that led to it
		err := b.SaveBan(ctx, ban)
		cancel()
		if err == nil {
			return
		}
		if stopping || petcat.CodeOf(err) == petcat.CodeNotFound || !b.Clock.Read().Time().Before(ban.EndsAt) {
			b.Logger.Error("a ban was not saved and ends with this process", "key", ban.Key, "error", err)
			return
		}
		select {
		case <-b.stop:
			stopping = true
		case <-time.After(time.Second):
		}
	}
}
