package clusterlimit

import (
	"time"

	"petcat"
	"petcat/internal/counters"
)

// Mode is who decides the requests of a partition: the states of a circuit breaker.
type Mode uint8

// The modes.
const (
	Closed   Mode = iota // the counters
	HalfOpen             // both: the counters answer again, and others may not have reported yet
	Open                 // this node alone, within its share: the counters do not answer
)

func (m Mode) String() string {
	return [...]string{"closed", "half-open", "open"}[m]
}

const (
	// halfOpenFor is how long the counters must answer before they decide alone
	// again: in that time every node finds them and reports.
	halfOpenFor = time.Second
	// briefly is how long a node may go without the counters and trust them at once
	// when they answer: a lost packet is no outage.
	briefly = 150 * time.Millisecond
)

// state is what a node knows of a partition. Moments named mono are of this
// machine's monotonic clock, in nanoseconds.
type state struct {
	mode  Mode
	since int64 // mono: when the mode began; while it is open, when the counters were lost
	epoch counters.Epoch
}

// newState is the state of a node that starts: it has not reached the counters.
func newState(mono int64) state { return state{mode: Open, since: mono - int64(briefly)} }

// failed is the state after a call that was not answered in time.
func (s state) failed(mono int64) state {
	switch s.mode {
	case Closed:
		s.mode, s.since = Open, mono
	case HalfOpen:
		// The outage goes on: it is no brief one.
		s.mode, s.since = Open, mono-int64(briefly)
	case Open:
	}
	return s
}

// answered is the state after a probe that was answered in an epoch. Reported says
// that nothing is left that the counters were not told.
func (s state) answered(mono int64, epoch counters.Epoch, reported bool) state {
	first := s.epoch.ID == 0
	s.epoch = epoch
	switch {
	case s.mode == Open && (first || mono-s.since < int64(briefly)):
		s.mode, s.since = Closed, mono
	case s.mode == Open:
		s.mode, s.since = HalfOpen, mono
	case s.mode == HalfOpen && reported && mono-s.since >= int64(halfOpenFor):
		s.mode, s.since = Closed, mono
	}
	return s
}

// away reports whether the counters are away for longer than a moment: others are
// told, and so are the operators.
func (s state) away(mono int64) bool {
	return s.mode == HalfOpen || s.mode == Open && mono-s.since >= int64(briefly)
}

// suspect reports whether the counters may lack what was admitted of the minute, so
// that this node's budget must agree: others may not have reported yet, or the epoch
// began in this minute while nodes were there that counted in the one before. Now is by
// the counters' clock.
func (s state) suspect(mono, now int64, m *Membership) bool {
	return s.mode == HalfOpen ||
		minuteOf(s.epoch.Began) == minuteOf(now) && m.anybodyBefore(mono-(now-s.epoch.Began))
}

// leftAtLoss returns how much of the minute was left when the counters were lost, in
// nanoseconds, or all of it if that was before.
func (s state) leftAtLoss(mono, now int64) int64 {
	if lost := now - (mono - s.since); s.mode == Open && minuteOf(lost) == minuteOf(now) {
		return (minuteOf(now)+1)*int64(time.Minute) - lost
	}
	return int64(time.Minute)
}

func minuteOf(now int64) int64 { return petcat.Minute.Index(now / int64(time.Second)) }

func dayOf(now int64) int64 { return petcat.Day.Index(now / int64(time.Second)) }
