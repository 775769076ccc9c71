package postgres

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat/internal/clock"
)

var errAway = errors.New("away")

// breakerTest is a breaker with a clock that the test moves.
type breakerTest struct {
	*testing.T
	clock *clock.Manual
	breaker
}

func newBreakerTest(t *testing.T) *breakerTest {
	t.Helper()
	c := clock.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	return &breakerTest{T: t, clock: c, breaker: breaker{clock: c}}
}

// lets returns the ticket of somebody who must be let through.
func (b *breakerTest) lets(who string) ticket {
	b.Helper()
	entered, _, err := b.tryEnter(false)
	if err != nil {
		b.Fatalf("%s is refused: %v", who, err)
	}
	return entered
}

func (b *breakerTest) refuses(who string) {
	b.Helper()
	if _, _, err := b.tryEnter(false); !errors.Is(err, errAway) || severityOf(err) != unreachable {
		b.Fatalf("%s: %v; want it refused because the database is away", who, err)
	}
}

func TestBreaker(t *testing.T) {
	b := newBreakerTest(t)
	first, second := b.lets("the first"), b.lets("a second one")
	b.leave(first, answered, nil)
	b.leave(second, noContact, errAway)
	b.refuses("who comes after a failure")
	b.clock.Advance(openFor - 1)
	b.refuses("who comes a little later")
	b.clock.Advance(1)
	trial := b.lets("the first to try again")
	b.refuses("a second one")
	b.leave(trial, noContact, errAway)
	b.refuses("who comes after another failure")
	b.clock.Advance(openFor)
	trial = b.lets("the next to try")
	b.leave(trial, notAsked, nil)
	trial = b.lets("who comes in the place of one who gave up")
	if b.isClosed() {
		t.Error("it is closed before anybody was answered")
	}
	b.leave(trial, answered, nil)
	b.lets("who comes after an answer")
	b.lets("and the next")
	if !b.isClosed() {
		t.Error("it is not closed after an answer")
	}
}

// Who was let through before the breaker opened says nothing about now, and ends
// nobody's trial.
func TestBreakerIgnoresWhoCameBefore(t *testing.T) {
	for name, o := range map[string]outcome{"answered": answered, "gave up": notAsked, "no contact": noContact} {
		t.Run(name, func(t *testing.T) {
			b := newBreakerTest(t)
			early, first := b.lets("an early caller"), b.lets("the first to fail")
			b.leave(first, noContact, errAway)
			b.leave(early, o, errAway)
			b.refuses("who comes after a failure")
			early = ticket(0)
			b.clock.Advance(openFor)
			trial := b.lets("the trial")
			b.leave(early, o, errAway)
			b.refuses("who comes during the trial")
			b.leave(trial, answered, nil)
			b.leave(early, o, errAway)
			b.lets("who comes after the trial")
			b.lets("and the next")
		})
	}
}

// Who would queue behind a trial is told at once.
func TestBreakerTellsOfATrial(t *testing.T) {
	b := newBreakerTest(t)
	want := func(what string, tried bool) {
		t.Helper()
		err := b.tried()
		if (err != nil) != tried || tried && (!errors.Is(err, errAway) || severityOf(err) != unreachable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	want("at first", false)
	b.leave(b.lets("the first"), noContact, errAway)
	b.clock.Advance(time.Hour)
	want("long after a failure, for somebody has to try", false)
	trial := b.lets("the trial")
	want("during a trial", true)
	b.leave(trial, noContact, errAway)
	want("when it has failed", false)
	b.clock.Advance(openFor)
	b.leave(b.lets("the next trial"), answered, nil)
	want("after an answer", false)
}

// Who comes during a trial is not refused before it is known how that went.
func TestBreakerWaitsForTheTrial(t *testing.T) {
	for _, tt := range []struct {
		name  string
		trial outcome
		want  bool
		took  time.Duration
	}{
		{"the database is back", answered, true, 10 * time.Millisecond},
		{"it is not", noContact, false, 10 * time.Millisecond},
		{"it hangs", -1, false, trialTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breaker{clock: clock.NewSystem()}
				b.leave(0, noContact, errAway)
				time.Sleep(openFor)
				trial, err := b.enter(t.Context())
				if err != nil {
					t.Fatalf("the trial: %v", err)
				}
				var others sync.WaitGroup
				for range 10 {
					others.Go(func() {
						start := time.Now()
						_, err := b.enter(t.Context())
						if took := time.Since(start); (err == nil) != tt.want || took != tt.took {
							t.Errorf("let through: %v, after %s; want %v, after %s", err == nil, took, tt.want, tt.took)
						}
					})
				}
				time.Sleep(10 * time.Millisecond)
				if tt.trial >= 0 {
					b.leave(trial, tt.trial, errAway)
				}
				others.Wait()
			})
		})
	}
}
