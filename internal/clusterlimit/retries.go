package clusterlimit

import (
	"context"
	"time"

	"petcat"
	"petcat/internal/counters"
	"petcat/internal/ratelimit"
)

// retriesEvery is how often nodes tell each other of early retries.
const retriesEvery = time.Second

// everySecond does what is to be done every second.
func (l *Limiter) everySecond() {
	l.tell()
	l.release()
	if l.options.Bans != petcat.BansOff {
		l.shareRetries(l.lifetime)
	}
}

// shareRetries tells the counters how many early retries keys have made here, and learns
// how many they have made elsewhere: this node bans by the sum.
func (l *Limiter) shareRetries(ctx context.Context) {
	keys := make(map[*partition][]ratelimit.KeyRetries)
	for _, k := range l.memory.EarlyRetries(func(id petcat.AccountID) int64 { return l.partitionOf(id).clock.Read().Wall }) {
		p := l.partitionOf(k.Account)
		keys[p] = append(keys[p], k)
	}
	for p, keys := range keys {
		if p.state.Load().mode != open {
			p.shareRetries(ctx, keys)
		}
	}
}

func (p *partition) shareRetries(ctx context.Context, keys []ratelimit.KeyRetries) {
	tell := make([]counters.KeyRetries, len(keys))
	for i, k := range keys {
		tell[i] = counters.KeyRetries{Key: k.Key, Retries: k.Retries}
	}
	ctx, cancel := context.WithTimeout(ctx, retriesEvery)
	defer cancel()
	elsewhere, err := p.l.options.Counters.ShareRetries(ctx, p.number, p.l.name, tell)
	if err != nil {
		return // a ban comes later
	}
	now := p.clock.Read().Wall
	for i, k := range keys {
		k.Retries = elsewhere[i]
		p.l.memory.SetRemoteRetries(k, now/int64(time.Second)+counters.RetriesHold)
	}
}
