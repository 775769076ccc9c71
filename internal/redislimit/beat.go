package redislimit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
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

// runBeats asks the server four times a second whether it is there.
func (l *Limiter) runBeats() {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		timely := true
		select {
		case <-l.stopping:
			return
		case <-l.beatNow:
			timely = false
		case <-ticker.C:
		}
		l.tick(timely)
	}
}

// tick beats once and does what follows from it. A beat before its time tells
// nothing of how long the server has been back.
func (l *Limiter) tick(timely bool) {
	errs := l.tryBeat()
	before := make([]mode, len(l.lanes))
	for i, ln := range l.lanes {
		before[i] = ln.now()
		l.noteBeat(ln, errs[i], timely)
	}
	answered := func(ln *lane) bool { return ln.answered }
	l.merge(l.working, answered)
	back := false
	for i, ln := range l.lanes {
		if answered(ln) {
			ln.doubted.Store(0)
			if timely {
				ln.leaveShares(l.liveNodes())
			}
		}
		if ln.beat(answered(ln), timely) == together && before[i] != together {
			back = true
		}
	}
	if heardBy(errs) == nil {
		l.leaser.again()
	}
	if l.probing() {
		time.AfterFunc(probePause, l.beatSoon)
	}
	l.reconnect(errs)
	if l.mode() == together {
		l.tellBans()
	}
	l.releaseBlocks(timely)
	if back {
		l.logger.Info("the limiter's server is back: the nodes count together")
	}
	if l.sinceSweep++; l.sinceSweep >= sweepBeats {
		l.sinceSweep = 0
		l.views.sweep(minuteOf(l.local.Now()))
	}
}

// probing reports whether the next beat is not to wait for its time.
func (l *Limiter) probing() bool {
	now := l.local.Now()
	return slices.ContainsFunc(l.lanes, func(ln *lane) bool { return ln.probing(now) })
}

// beatSoon has the server asked before the next beat's time.
func (l *Limiter) beatSoon() {
	select {
	case l.beatNow <- struct{}{}:
	default:
	}
}

// releaseBlocks gives back what this node's memory leased to decide alone, once the
// server decides again.
func (l *Limiter) releaseBlocks(timely bool) {
	if l.settled() {
		l.leased.Store(true)
	}
	if timely && l.mode() == together && !l.probing() && l.leased.Swap(false) {
		l.memory.Release()
	}
}

// settleBeats is how long a day store that is back may take to be asked for all
// that this node owes: its memory asks once a second.
const settleBeats = int(3 * time.Second / beatEvery)

// settled reports, once, that this node's memory has paid a day store that is
// back what it owed. With that it leased more than it needs.
func (l *Limiter) settled() bool {
	before := l.storeAway
	l.storeAway = l.memory.StoreAway()
	switch {
	case l.storeAway:
		l.settling = 0
	case before:
		l.settling = settleBeats
	case l.settling > 0:
		l.settling--
		return l.settling == 0
	}
	return false
}

// noteBeat takes note of whether a beat was answered. One before its time is not
// missed: a server that restarts is back before the next, and a node that left the
// others for that would count on its own for a second while they go on together.
func (l *Limiter) noteBeat(ln *lane, err error, timely bool) {
	ln.answered = err == nil
	if ln.answered {
		ln.missed, ln.told = 0, ""
		return
	}
	if errors.Is(err, context.DeadlineExceeded) && ln.doubted.Load() != 0 && ln.timedOut(l.local.Now()) {
		l.tellLost(err)
	}
	if !timely {
		return
	}
	ln.missed++
	if ln.now() == together {
		if ln.missed >= missesToOpen && ln.open(l.local.Now()) {
			l.tellLost(err)
		}
	} else if text := describe(err).Error(); text != ln.told {
		ln.told = text
		l.logger.Warn("the limiter's server is still away", "error", text)
	}
}

// tryBeat beats, after it has connected if need be. It returns what each lane
// answered.
func (l *Limiter) tryBeat() []error {
	client := l.client.Load()
	if client != nil {
		return l.beatAll(l.working, *client, l.options.timeout, 0)
	}
	err := l.connect(l.working)
	errs := make([]error, len(l.lanes))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// beatAll tells the server that this node counts there, and learns what time it
// is and how many nodes do. It waits for answers for as long as patience. A node
// that goes, leaving, is not missed for so long.
func (l *Limiter) beatAll(ctx context.Context, client rueidis.Client, patience, leaving time.Duration) []error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	calls := make([]call, len(l.lanes))
	for i, ln := range l.lanes {
		calls[i] = call{[]string{ln.nodes}, []string{l.node, number(heardFor.Milliseconds()), number(leaving.Milliseconds())}}
	}
	errs := make([]error, len(l.lanes))
	for i, r := range l.scripts.beat.runAll(ctx, client, calls) {
		if errs[i] = r.err; r.err != nil {
			continue
		}
		if !l.options.virtualTime {
			l.server.observe(r.numbers[0]*int64(time.Second) + r.numbers[1]*int64(time.Microsecond))
		}
		l.lanes[i].heard.Store(r.numbers[2])
		l.lanes[i].staying.Store(r.numbers[3])
	}
	return errs
}

// heardBy returns nil when any lane answered.
func heardBy(errs []error) error {
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errs[0]
}

// leaveShares leaves nodes their shares that the server has not heard for several
// beats, each in its time.
func (ln *lane) leaveShares(live int64) {
	if heard := ln.heard.Load(); heard >= live {
		ln.missing = 0
		ln.part.Store(0)
	} else if ln.missing++; ln.missing >= missingBeats {
		ln.part.Store(heard)
	}
}

// reconnect makes the client anew when the server has answered nothing but
// errors for a while: behind the same name may be another server by now.
func (l *Limiter) reconnect(errs []error) {
	for i, ln := range l.lanes {
		if _, answered := rueidis.IsRedisErr(errs[i]); !answered || ln.missed == 0 || ln.missed%reconnectBeats != 0 {
			return
		}
	}
	if client := l.client.Swap(nil); client != nil {
		hangUp(*client)
	}
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
