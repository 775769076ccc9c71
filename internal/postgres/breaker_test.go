package postgres

import (
	"errors"
	"testing"
	"time"

	"petcat/internal/clocktest"
)

func TestBreaker(t *testing.T) {
	away := errors.New("away")
	c := clocktest.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	b := &breaker{clock: c}
	want := func(what string, err error) {
		t.Helper()
		if got := b.refuses(); !errors.Is(got, err) {
			t.Errorf("%s: refuses %v, want %v", what, got, err)
		}
		if got := b.enter(); !errors.Is(got, err) {
			t.Errorf("%s: %v, want %v", what, got, err)
		}
	}
	want("closed", nil)
	want("closed, second call", nil)
	b.failed(away)
	want("after a failure", away)
	c.Advance(pause - 1)
	want("during the pause", away)
	c.Advance(1)
	want("after the pause", nil)
	want("during a trial", away)
	b.unknown()
	want("after an unknown outcome", nil)
	b.failed(away)
	want("after another failure", away)
	c.Advance(pause)
	want("after another pause", nil)
	if !errors.Is(b.err(), away) {
		t.Errorf("during a trial, the last failure is %v", b.err())
	}
	b.answered()
	want("after an answer", nil)
	want("after an answer, second call", nil)
	if b.err() != nil {
		t.Errorf("closed, the last failure is %v", b.err())
	}
}
