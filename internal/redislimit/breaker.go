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
	joining              // the server answers again; this node tells it what it admitted
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
	// timeoutsToOpen is how many timeouts in a row send the requests elsewhere.
	// One alone may be a lost packet.
	timeoutsToOpen = 3
	// missesToOpen is how many beats in a row do, each in its time. A failure that
	// costs no time, such as a connection that was reset, only asks in between
	// whether the server is back.
	missesToOpen = 2
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
	timeouts atomic.Int32  // in a row
	phase    atomic.Uint32 // from 1; grows with each change of who decides
	opened   atomic.Int64  // the local clock when the node was left alone
	beats    int           // answered while joining; the beat's goroutine alone
}

func (b *breaker) now() mode { return mode(b.mode.Load()) }

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

// beat takes the outcome of a beat and returns the mode that holds now.
func (b *breaker) beat(ok bool) mode {
	switch m := b.now(); {
	case m == together:
	case !ok:
		b.mode.Store(uint32(alone))
		b.beats = 0
	case m == alone:
		b.mode.Store(uint32(joining))
		b.beats = 1
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
