package clusterlimit

import (
	"time"

	"petcat"
	"petcat/internal/counters"
)

// mode is who decides the requests of a partition: the states of a circuit breaker.
type mode uint8

const (
	closed   mode = iota // the counters
	halfOpen             // both: the counters answer again, and others may not have reported yet
	open                 // this node alone, within its share: the counters do not answer
)

const (
	// halfOpenFor is how long the counters must answer before they decide alone
	// again: in that time every node finds them and reports.
	halfOpenFor = time.Second
	// doubtFor is how long calls must stay unanswered after the first one until the
	// counters count as lost: a late answer or a lost packet is no outage.
	doubtFor = 100 * time.Millisecond
	// probeEvery is how often a node asks whether the counters are there, and
	// probeAgain how often in the first second after a call was not answered.
	probeEvery = 250 * time.Millisecond
	probeAgain = 10 * time.Millisecond
)

// state is what a node knows of a partition. Moments named mono are of this
// machine's monotonic clock, in nanoseconds. It is not package breaker's, because its
// half-open state means that two must agree, and it is a step function so that
// simulations can run through it.
type state struct {
	mode  mode
	since int64 // mono: when the mode began
	lost  int64 // mono: when the first call was not answered since a probe was; 0: all were
	epoch counters.Epoch
	begun int64 // mono: when this node learned of the epoch
}

// newState is the state of a node that starts: it has not reached the counters.
func newState(mono int64) state { return state{mode: open, since: mono, lost: mono} }

// late is the state after a call that was not answered in time. While the counters
// decide, this only raises a doubt, which a probe is to settle.
func (s state) late(mono int64) state {
	if s.lost == 0 {
		s.lost = mono
	}
	if s.mode == halfOpen {
		s.mode, s.since = open, mono
	}
	return s
}

// unanswered is the state after a probe that was not answered in time.
func (s state) unanswered(mono int64) state {
	s = s.late(mono)
	if s.mode == closed && mono-s.lost >= int64(doubtFor) {
		s.mode, s.since = open, mono
	}
	return s
}

// answered is the state after a probe that was answered in an epoch. Reported says
// that nothing is left that the counters were not told.
func (s state) answered(mono int64, epoch counters.Epoch, reported bool) state {
	first := s.epoch.ID == 0
	s = s.in(mono, epoch)
	s.lost = 0
	switch {
	case s.mode == open && first:
		s.mode, s.since = closed, mono
	case s.mode == open:
		s.mode, s.since = halfOpen, mono
	case s.mode == halfOpen && reported && mono-s.since >= int64(halfOpenFor):
		s.mode, s.since = closed, mono
	}
	return s
}

// in is the state in an epoch that the counters told of.
func (s state) in(mono int64, epoch counters.Epoch) state {
	if s.epoch.ID != epoch.ID {
		s.epoch, s.begun = epoch, mono
	}
	return s
}

// untilProbe returns how long to wait for the next probe.
func (s state) untilProbe(mono int64) time.Duration {
	if s.lost != 0 && mono-s.lost < int64(time.Second) {
		return probeAgain
	}
	return probeEvery
}

// suspect reports whether the counters may lack what was admitted of the minute, so
// that this node's budget must agree: others may not have reported yet, or the epoch
// began in this minute while nodes were there that counted in the one before. A minute in
// which the clock is set back goes on under another name, for one more minute at most. Now
// is by the counters' clock.
func (s state) suspect(mono, now int64, m *Membership) bool {
	setBack := s.epoch.Began > now && mono-s.begun < 2*int64(time.Minute)
	return s.mode == halfOpen ||
		(minuteOf(s.epoch.Began) == minuteOf(now) || setBack) && m.anybodyBefore(mono-(now-s.epoch.Began))
}

// leftAtLoss returns how much of the minute was left when the counters were lost, in
// nanoseconds, or all of it if that was before.
func (s state) leftAtLoss(mono, now int64) int64 {
	if lost := now - (mono - s.lost); s.lost != 0 && minuteOf(lost) == minuteOf(now) {
		return (minuteOf(now)+1)*int64(time.Minute) - lost
	}
	return int64(time.Minute)
}

func minuteOf(now int64) int64 { return petcat.Minute.Index(now / int64(time.Second)) }

func dayOf(now int64) int64 { return petcat.Day.Index(now / int64(time.Second)) }
