package redislimit

import (
	"context"
	"sync"
	"time"

	"petcat"
	"petcat/internal/ratelimit"
)

// of returns the ban in the domain's terms. Who lifted it is not known here.
func (b lastBan) of(c ratelimit.Charge, mode petcat.BanMode) petcat.Ban {
	ban := petcat.Ban{
		Key: c.Key, Account: c.Account, Level: int(b.level), Shadow: mode == petcat.ShadowBans,
		StartedAt: time.UnixMilli(b.start).UTC(), EndsAt: time.Unix(b.end, 0).UTC(),
	}
	if b.lifted > 0 {
		ban.LiftedAt = time.UnixMilli(b.lifted).UTC()
	}
	return ban
}

func (b lastBan) endUnlessLifted() int64 {
	if b.lifted > 0 {
		return 0
	}
	return b.end
}

func lastBanOf(b petcat.Ban) lastBan {
	last := lastBan{start: b.StartedAt.UnixMilli(), end: b.EndsAt.Unix(), level: int64(b.Level)}
	if !b.LiftedAt.IsZero() {
		last.lifted = max(1, b.LiftedAt.UnixMilli())
	}
	return last
}

// knownBan returns the last ban of a key as this node's memory knows it.
func (l *Limiter) knownBan(c ratelimit.Charge) lastBan {
	if l.options.Bans == petcat.BansOff {
		return lastBan{}
	}
	if ban, known := l.memory.LastBan(c.Account, c.Key); known {
		return lastBanOf(ban)
	}
	return lastBan{}
}

// impose bans a key that made too many early retries, unless another request
// has just done so, and changes the answer accordingly.
func (l *Limiter) impose(ctx context.Context, c ratelimit.Charge, f facts, d *ratelimit.Decision) {
	var last petcat.Ban
	if f.ban.start > 0 {
		last = f.ban.of(c, l.options.Bans)
	}
	if known, ok := l.memory.LastBan(c.Account, c.Key); ok && !known.StartedAt.Before(last.StartedAt) {
		last = known
	}
	ban := ratelimit.NewBan(c, last, f.now, f.early, l.options.Bans)
	now, imposed, err := l.writeBan(ctx, ban, &f.ban)
	if err == nil && !imposed {
		if now.lifted == 0 && now.end > f.now/int64(time.Second) && l.options.Bans == petcat.EnforceBans {
			*d = f.tally(c).Banned(now.end, c.Key)
		}
		return
	}
	l.memory.ApplyBan(ban)
	if err != nil {
		// The ban holds: this node knows it, and tells the server with the key's
		// next request.
		l.failed(l.lane(c.Account), err)
		l.news.add(ban)
	}
	l.options.Banned(ban)
	if !ban.Shadow {
		*d = f.tally(c).Banned(ban.EndsAt.Unix(), c.Key)
	}
}

// bannedAlone is told of the bans that this node's memory imposes.
func (l *Limiter) bannedAlone(b petcat.Ban) {
	l.news.add(b)
	l.options.Banned(b)
}

// ApplyBan implements [ratelimit.Limiter].
func (l *Limiter) ApplyBan(b petcat.Ban) {
	if l.options.Bans == petcat.BansOff || b.Shadow && l.options.Bans == petcat.EnforceBans {
		return
	}
	l.memory.ApplyBan(b)
	// Of the same ban the memory may know an earlier end, or that it was lifted.
	known, ok := l.memory.LastBan(b.Account, b.Key)
	if !ok {
		return // it no longer matters
	}
	if l.lane(b.Account).now() == together {
		if _, _, err := l.writeBan(l.lifetime, known, nil); err == nil {
			return
		}
	}
	l.news.add(known)
}

// writeBan tells the server of a ban: one that is imposed now, after the last
// one that was known, or one from elsewhere. It returns the one that holds.
func (l *Limiter) writeBan(ctx context.Context, b petcat.Ban, imposedAfter *lastBan) (holds lastBan, done bool, err error) {
	client := l.client.Load()
	if client == nil {
		return lastBan{}, false, errNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.timeout)
	defer cancel()
	last := lastBanOf(b)
	args := []string{number(int64(b.Key)), modeArg(l.options.Bans), "0", "0"}
	if imposedAfter != nil {
		args[2], args[3] = "1", number(imposedAfter.start)
	}
	args = append(args, number(last.start), number(last.end), number(last.level), number(last.lifted), number(l.mattersFor(b)))
	r := l.scripts.ban.run(ctx, *client, call{[]string{l.keys.account(b.Account), l.keys.key(b.Account, b.Key)}, args})
	if r.err != nil {
		return lastBan{}, false, r.err
	}
	v := r.numbers
	return lastBan{start: v[1], end: v[2], level: v[3], lifted: v[4]}, v[0] == 1, nil
}

// mattersFor returns for how many seconds from now a ban matters: until its
// level has gone back to nothing, and an hour more, because clocks differ.
func (l *Limiter) mattersFor(b petcat.Ban) int64 {
	left := b.EndsAt.Sub(time.Unix(0, l.local.Now()))
	return int64((max(0, left) + time.Duration(b.Level)*24*time.Hour + time.Hour) / time.Second)
}

// newsOfBans is what the server is still to be told.
type newsOfBans struct {
	mu   sync.Mutex
	bans map[petcat.KeyID]petcat.Ban // guarded by mu
}

func (n *newsOfBans) add(b petcat.Ban) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bans == nil {
		n.bans = make(map[petcat.KeyID]petcat.Ban)
	}
	if known, ok := n.bans[b.Key]; !ok || !b.StartedAt.Before(known.StartedAt) {
		n.bans[b.Key] = b
	}
}

func (n *newsOfBans) take() map[petcat.KeyID]petcat.Ban {
	n.mu.Lock()
	defer n.mu.Unlock()
	bans := n.bans
	n.bans = nil
	return bans
}

// tellBans tells the server what it has missed. What it does not take is kept.
func (l *Limiter) tellBans() {
	bans := l.news.take()
	for key, b := range bans {
		if known, ok := l.memory.LastBan(b.Account, key); ok {
			b = known
		}
		if _, _, err := l.writeBan(l.lifetime, b, nil); err != nil {
			for _, rest := range bans {
				l.news.add(rest)
			}
			return
		}
		delete(bans, key)
	}
}
