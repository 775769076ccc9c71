package ratelimit

import "time"

const (
	// silence is the time without a response after which the counters are silent. It is also the
	// timeout of a call, and the maximum time that a request waits for its call. With 250 ms, a
	// busy but healthy database let most accounts exceed their quotas.
	silence = time.Second
	// trust is the maximum time that a node decides from memory; later requests get 503.
	trust = 30 * time.Second
)

// phase is what a node knows about the counters.
type phase uint8

const (
	// responding: no call has failed since the last response. Requests join calls.
	responding phase = iota
	// doubtful: a call has failed, and none has succeeded since. Other calls may succeed, so new requests
	// wait for a response or for silence, and the counters are probed.
	doubtful
	// silent: no call of the last second got a response. Memory decides.
	silent
	// down: silent for longer than trust. The counts in memory are outdated, so requests are
	// rejected.
	down
)

// state is a node's view of the counters. Responses, failed calls and time change it. Times are readings
// of the monotonic clock.
//
// It differs from the circuit breaker of internal/postgres, which opens at the first failure and
// rejects calls: the alternative to a call to the counters is a decision from memory, which may
// exceed a quota, so one failure must not lead to it.
type state struct {
	phase     phase
	since     int64 // doubtful: when silence may have begun; silent, down: when it has lasted for a second
	responded int64 // time of the last response
}

// response returns the state after a response.
func (s state) response(now int64) state {
	return state{phase: responding, responded: max(s.responded, now)}
}

// failure returns the state after a call failed. The counters may be silent since it was sent, or
// since the last response to another call.
func (s state) failure(sent int64) state {
	since := max(sent, s.responded)
	switch s.phase {
	case responding:
		s.phase, s.since = doubtful, since
	case doubtful:
		s.since = min(s.since, since)
	default:
	}
	return s
}

// at returns the state at a time.
func (s state) at(now int64) state {
	if s.phase == doubtful && now-s.since >= int64(silence) {
		s.phase, s.since = silent, s.since+int64(silence)
	}
	if s.phase == silent && now-s.since > int64(trust) {
		s.phase = down
	}
	return s
}

// err returns [ErrSilent] or [ErrDown] while the counters are silent, else nil.
func (s state) err() error {
	switch s.phase {
	case silent:
		return ErrSilent
	case down:
		return ErrDown
	default:
		return nil
	}
}
