package redislimit

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"petcat"
)

const (
	// heardFor is how long a node that was heard counts as one that counts
	// together: four beats.
	heardFor = time.Second
	// missingBeats is for how long nodes must be missing before the others leave
	// their shares to them. A server that was emptied hears everybody anew within
	// a beat or two.
	missingBeats = 4
	// leaveFor is how long a node that closes is not missed: until the others know
	// that it no longer serves.
	leaveFor = 30 * time.Second
	// sweepBeats is a minute.
	sweepBeats = int(time.Minute / beatEvery)
	// reconnectBeats is how long a server may answer errors until the client is
	// made anew: behind the same name may be another server by now.
	reconnectBeats = int(2 * time.Second / beatEvery)
)

// beatState is what the beat's goroutine remembers.
type beatState struct {
	missing int // beats in a row in which nodes were missing
	sweep   int
	failed  int    // beats in a row
	told    string // the problem that the log was told last
}

// runBeats asks the server four times a second whether it is there.
func (l *Limiter) runBeats() {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.stopping:
			return
		case <-ticker.C:
		}
		l.tick()
	}
}

// tick beats once and does what follows from it.
func (l *Limiter) tick() {
	err := l.tryBeat()
	before := l.breaker.now()
	if err != nil {
		l.beatState.failed++
		if before == together {
			l.failed(err)
		} else if text := describe(err).Error(); text != l.beatState.told {
			l.beatState.told = text
			l.logger.Warn("the limiter's server is still away", "error", text)
		}
		l.breaker.beat(false)
		l.reconnect(err)
		return
	}
	l.beatState.failed, l.beatState.told = 0, ""
	if before != together || l.views.owing() {
		l.merge()
	}
	after := l.breaker.beat(true)
	if after == together {
		l.tellBans()
	}
	if before != together && after == together {
		l.memory.Release()
		l.leaser.poke()
		l.logger.Info("the limiter's server is back: the nodes count together")
	}
	if l.beatState.sweep++; l.beatState.sweep >= sweepBeats {
		l.beatState.sweep = 0
		l.views.sweep(minuteOf(l.local.Now()))
	}
}

func (l *Limiter) tryBeat() error {
	client := l.client.Load()
	if client == nil {
		return l.connect(l.lifetime)
	}
	return l.beat(l.lifetime, *client)
}

// beat tells the server that this node counts there, and learns what time it is
// and how many nodes do.
func (l *Limiter) beat(ctx context.Context, client rueidis.Client) error {
	ctx, cancel := context.WithTimeout(ctx, l.options.timeout)
	defer cancel()
	r := l.scripts.beat.run(ctx, client, call{[]string{l.keys.nodes()}, []string{l.node, number(heardFor.Milliseconds()), "0"}})
	if r.err != nil {
		return r.err
	}
	if !l.options.virtualTime {
		l.server.observe(r.numbers[0]*int64(time.Second) + r.numbers[1]*int64(time.Microsecond))
	}
	heard := r.numbers[2]
	l.heard.Store(heard)
	l.staying.Store(r.numbers[3])
	if heard >= l.liveNodes() {
		l.beatState.missing = 0
		l.part.Store(0)
	} else if l.beatState.missing++; l.beatState.missing >= missingBeats {
		l.part.Store(heard)
	}
	return nil
}

// reconnect makes the client anew when the server has answered errors for a
// while, or had to be closed.
func (l *Limiter) reconnect(err error) {
	if _, answered := rueidis.IsRedisErr(err); !answered || l.beatState.failed%reconnectBeats != 0 {
		return
	}
	if client := l.client.Swap(nil); client != nil {
		l.background.Go((*client).Close)
	}
}

// merge adds what this node admitted alone in this minute to the server's
// counts.
func (l *Limiter) merge() {
	ids := l.views.takeDirty()
	if len(ids) == 0 {
		return
	}
	floor := l.server.floor()
	calls, debts := make([]call, 0, len(ids)), make([]debt, 0, len(ids))
	for _, id := range ids {
		d, owes := l.views.debt(id)
		if !owes {
			continue
		}
		debts = append(debts, d)
		calls = append(calls, call{[]string{l.keys.account(id)}, l.withTime([]string{
			number(floor / int64(time.Second)), number(floor % int64(time.Second)),
			number(d.minute), number(d.told), number(d.owed),
		})})
	}
	var failed []petcat.AccountID
	for i, r := range l.runAll(l.lifetime, l.scripts.merge, calls) {
		if r.err != nil {
			failed = append(failed, debts[i].account)
			continue
		}
		l.views.settle(debts[i], r.numbers[0])
	}
	l.views.putDirty(failed)
}

// leave keeps the others from missing this node while it goes.
func (l *Limiter) leave(ctx context.Context, client rueidis.Client) {
	ctx, cancel := context.WithTimeout(ctx, l.options.timeout)
	defer cancel()
	l.scripts.beat.run(ctx, client, call{[]string{l.keys.nodes()}, []string{l.node, number(heardFor.Milliseconds()), number(leaveFor.Milliseconds())}})
}

// describe makes an error of the client fit to be shown. The client's errors
// hold no password; what a server answers might repeat a command.
func describe(err error) error {
	if e, ok := rueidis.IsRedisErr(err); ok {
		kind, _, _ := strings.Cut(e.Error(), " ")
		return errors.New("the server answered " + kind)
	}
	return err
}
