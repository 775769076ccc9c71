package redislimit

import (
	"context"
	"sync"
	"time"

	"petcat"
)

const (
	// mergeEvery is how often requests that were decided alone are told of while the
	// server is not known to be away.
	mergeEvery = 5 * time.Millisecond
	// mergesAtOnce bounds how many of those calls wait for a server that hangs:
	// more than are made until the node knows that it is away.
	mergesAtOnce = 64
)

// runMerges tells the server of what this node admitted alone without waiting for
// an answer: a server that hung for a moment finds it before whatever is sent
// once it answers. When it is known to be away, beats do that as soon as it is
// there.
func (l *Limiter) runMerges() {
	var sent sync.WaitGroup
	defer sent.Wait()
	free := make(chan struct{}, mergesAtOnce)
	for {
		select {
		case <-l.stopping:
			return
		case <-l.mergeNow:
		}
		select {
		case <-l.stopping:
			return
		case free <- struct{}{}:
		}
		sent.Go(func() {
			defer func() { <-free }()
			l.merge(l.working, func(ln *lane) bool { return ln.now() != alone })
		})
		time.Sleep(mergeEvery) // others are told of with the next
	}
}

// mergeSoon has the server told of what this node admitted alone.
func (l *Limiter) mergeSoon() {
	select {
	case l.mergeNow <- struct{}{}:
	default:
	}
}

// merge adds what this node admitted alone in this minute to the server's
// counts, of accounts whose lane is there.
func (l *Limiter) merge(ctx context.Context, there func(*lane) bool) {
	ids := l.views.takeDirty()
	if len(ids) == 0 {
		return
	}
	floor := l.server.floor()
	calls, debts := make([]call, 0, len(ids)), make([]debt, 0, len(ids))
	var away, failed []petcat.AccountID
	for _, id := range ids {
		if !there(l.lane(id)) {
			away = append(away, id)
			continue
		}
		d, owes := l.views.debt(id)
		if !owes {
			continue
		}
		debts = append(debts, d)
		calls = append(calls, call{[]string{l.keys.account(id), l.keys.alone(id, l.node, d.minute)}, l.withTime([]string{
			number(floor / int64(time.Second)), number(floor % int64(time.Second)),
			number(d.minute), number(d.told), number(d.alone), number(d.merged),
		})})
	}
	for i, r := range l.runAll(ctx, l.scripts.merge, calls) {
		if r.err != nil {
			failed = append(failed, debts[i].account)
			continue
		}
		l.views.settle(debts[i], r.numbers[0])
	}
	l.views.putDirty(failed)
	l.views.keepDirty(away)
}
