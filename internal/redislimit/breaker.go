package redislimit

import (
	"sync/atomic"
	"time"
)

// mode is who counts.
type mode uint32

const (
	together mode = iota // the server decides
	alone                // this node decides: the server is away
	joining              // the server answers again, and decides within this node's share
)

func (m mode) String() string {
	switch m {
	case alone:
		return "alone"
	case joining:
		return "joining"
	default:
		return "together"
	}
}

const (
	// commandTimeout is how long a command may take: some fifty times what one
	// takes in a data centre, and as long as a request may be held up at most.
	commandTimeout = 50 * time.Millisecond
	// timeoutsToOpen is how many timeouts in a row, of calls or of beats that were to
	// tell whether the server is there, have the node count alone for a second and
	// more. One alone may be a lost packet, and some a server that was busy with
	// something else.
	timeoutsToOpen = 3
	// missesToOpen is how many beats in a row do, each in its time. A failure that
	// costs no time, such as a connection that was reset, only asks in between
	// whether the server is back: the next request finds it on a new connection, and
	// a node that left the others for that would not count what they do meanwhile.
	missesToOpen = 2
	// probePause is how soon a server is asked again that is doubted, or has been away
	// for no longer than probeFor.
	probePause = 10 * time.Millisecond
	probeFor   = time.Second
	// beatEvery is how often the server is asked whether it is there: four
	// beats make up the second after which nodes count together again.
	beatEvery = 250 * time.Millisecond
	joinBeats = 4
)

// breaker keeps requests from waiting for a server that does not answer. It is
// opened by requests that waited in vain or by beats, and closed only by beats,
// which no request waits for.
type breaker struct {
	mode     atomic.Uint32
	doubted  atomic.Int64  // the local clock when a call was not answered in time, if no beat was answered since; or 0
	timeouts atomic.Int32  // in a row
	phase    atomic.Uint32 // from 1; grows with each change of who decides
	opened   atomic.Int64  // the local clock when the node was left alone
	beats    int           // answered while joining; the beat's goroutine alone
}

func (b *breaker) now() mode { return mode(b.mode.Load()) }

// trusted reports whether requests are sent to the server. When a call was not
// answered in time, a beat is to tell first whether it is there, and what this node
// admits alone meanwhile is told before anything is asked.
func (b *breaker) trusted() bool { return b.now() != alone && b.doubted.Load() == 0 }

// probing reports whether the server is to be asked again at once whether it is
// there: while it is doubted, and soon after.
func (b *breaker) probing(now int64) bool {
	if b.now() == alone {
		return now-b.opened.Load() < int64(probeFor)
	}
	return b.doubted.Load() != 0
}

func (b *breaker) succeeded() {
	if b.timeouts.Load() != 0 {
		b.timeouts.Store(0)
	}
}

// timedOut counts a timeout and returns whether it opened the breaker.
func (b *breaker) timedOut(now int64) bool {
	return b.timeouts.Add(1) >= timeoutsToOpen && b.open(now)
}

// open leaves the node alone, unless it is.
func (b *breaker) open(now int64) bool {
	if !b.mode.CompareAndSwap(uint32(together), uint32(alone)) {
		return false
	}
	b.opened.Store(now)
	b.phase.Add(1)
	return true
}

// beat takes the outcome of a beat and returns the mode that holds now. One before
// its time finds out that the server is there, and nothing of how long it has been.
func (b *breaker) beat(ok, timely bool) mode {
	switch m := b.now(); {
	case m == together:
	case m == alone && ok:
		b.mode.Store(uint32(joining))
		b.beats = 0
		if timely {
			b.beats = 1
		}
	case !timely:
	case !ok:
		b.mode.Store(uint32(alone))
		b.beats = 0
	case b.beats < joinBeats:
		b.beats++
	default:
		b.beats = 0
		b.timeouts.Store(0)
		b.phase.Add(1)
		b.mode.Store(uint32(together))
	}
	return b.now()
}
