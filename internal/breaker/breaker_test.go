package breaker

import (
	"errors"
	"testing"
	"time"

	"petcat/internal/clock"
)

func TestBreaker(t *testing.T) {
	const pause = time.Second
	away := errors.New("away")
	c := clock.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	b := New(c, pause)
	want := func(what string, err error) {
		t.Helper()
		if got := b.Refuses(); !errors.Is(got, err) {
			t.Errorf("%s: it would say %v, want %v", what, got, err)
		}
		if got := b.Enter(); !errors.Is(got, err) {
			t.Errorf("%s: %v, want %v", what, got, err)
		}
	}
	want("closed", nil)
	want("closed, the second", nil)
	b.Failed(away)
	want("after a failure", away)
	c.Advance(pause - 1)
	want("during the pause", away)
	c.Advance(1)
	want("after the pause", nil)
	want("while one tries", away)
	b.Unknown()
	want("after nobody knows", nil)
	b.Failed(away)
	want("after another failure", away)
	c.Advance(pause)
	want("after another pause", nil)
	if !errors.Is(b.Err(), away) {
		t.Errorf("while one tries, the last failure is %v", b.Err())
	}
	b.Answered()
	want("after an answer", nil)
	want("after an answer, the second", nil)
	if b.Err() != nil {
		t.Errorf("closed, the last failure is %v", b.Err())
	}
}
