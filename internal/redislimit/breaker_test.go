package redislimit

import "testing"

func newTestBreaker() *breaker {
	b := &breaker{}
	b.phase.Store(1)
	return b
}

func TestBreakerOpensAfterTimeoutsInARow(t *testing.T) {
	b := newTestBreaker()
	for i := range 10 {
		first, second := b.timedOut(1), b.timedOut(2)
		if first || second {
			t.Fatalf("round %d: opened by two timeouts", i)
		}
		b.succeeded()
	}
	b.timedOut(5)
	b.timedOut(6)
	if !b.timedOut(7) {
		t.Error("three timeouts in a row did not open it")
	}
	if b.timedOut(8) {
		t.Error("it was opened twice")
	}
	if b.now() != alone || b.opened.Load() != 7 || b.phase.Load() != 2 {
		t.Errorf("mode %s since %d in phase %d, want alone since 7 in phase 2", b.now(), b.opened.Load(), b.phase.Load())
	}
}

// Only the beat closes it, and only after a second of answers.
func TestBreakerClosesByTheBeatAlone(t *testing.T) {
	b := newTestBreaker()
	for range timeoutsToOpen {
		b.timedOut(1)
	}
	b.succeeded() // a late answer
	for i, step := range []struct {
		ok, timely bool
		want       mode
	}{
		{false, true, alone},
		{false, false, alone},
		{true, true, joining},
		{true, true, joining},
		{false, false, joining}, // only one that comes in its time tells how long
		{false, true, alone},    // it was a flicker
		{true, false, joining},
		{true, true, joining},
		{true, false, joining},
		{true, true, joining},
		{true, true, joining},
		{true, true, joining},
		{true, false, joining},
		{true, true, together},
		{true, true, together},
		{false, true, together}, // it closes, and does not open
	} {
		if got := b.beat(step.ok, step.timely); got != step.want {
			t.Fatalf("beat %d: %s, want %s", i+1, got, step.want)
		}
	}
	if b.phase.Load() != 3 {
		t.Errorf("phase %d, want 3: left alone once, back once", b.phase.Load())
	}
	b.timedOut(1)
	if b.now() != together {
		t.Error("what failed before it was back counts")
	}
}
