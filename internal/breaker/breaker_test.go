package breaker

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat/internal/clock"
)

var errAway = errors.New("away")

const openFor, trialTimeout = 250 * time.Millisecond, 100 * time.Millisecond

func options(c clock.Clock) Options {
	return Options{Clock: c, OpenFor: openFor, TrialTimeout: trialTimeout, MaxWaiting: 10}
}

// breakerTest is a breaker with a clock that the test moves.
type breakerTest struct {
	*testing.T
	clock *clock.Manual
	*Breaker
}

func newBreakerTest(t *testing.T) *breakerTest {
	t.Helper()
	c := clock.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	return &breakerTest{T: t, clock: c, Breaker: New(options(c))}
}

// lets returns the ticket of somebody who must be let through.
func (b *breakerTest) lets(who string) Ticket {
	b.Helper()
	entered, _, err := b.tryEnter(false)
	if err != nil {
		b.Fatalf("%s is refused: %v", who, err)
	}
	return entered
}

func (b *breakerTest) refuses(who string) {
	b.Helper()
	if _, _, err := b.tryEnter(false); !errors.Is(err, errAway) {
		b.Fatalf("%s: %v; want it refused because of the failure", who, err)
	}
}

func TestBreaker(t *testing.T) {
	b := newBreakerTest(t)
	first, second := b.lets("the first"), b.lets("a second one")
	b.Leave(first, Answered, nil)
	b.Leave(second, Failed, errAway)
	b.refuses("who comes after a failure")
	b.clock.Advance(openFor - 1)
	b.refuses("who comes a little later")
	b.clock.Advance(1)
	trial := b.lets("the first to try again")
	b.refuses("a second one")
	b.Leave(trial, Failed, errAway)
	b.refuses("who comes after another failure")
	b.clock.Advance(openFor)
	trial = b.lets("the next to try")
	b.Leave(trial, Unknown, nil)
	trial = b.lets("who comes in the place of one who gave up")
	if state, _ := b.State(); state == Closed {
		t.Error("it is closed before anybody was answered")
	}
	b.Leave(trial, Answered, nil)
	b.lets("who comes after an answer")
	b.lets("and the next")
	if state, _ := b.State(); state != Closed {
		t.Error("it is not closed after an answer")
	}
}

// Who was let through before the breaker opened says nothing about now, and ends
// nobody's trial.
func TestBreakerIgnoresWhoCameBefore(t *testing.T) {
	for name, o := range map[string]Outcome{"answered": Answered, "gave up": Unknown, "no contact": Failed} {
		t.Run(name, func(t *testing.T) {
			b := newBreakerTest(t)
			early, first := b.lets("an early caller"), b.lets("the first to fail")
			b.Leave(first, Failed, errAway)
			b.Leave(early, o, errAway)
			b.refuses("who comes after a failure")
			early = Ticket(0)
			b.clock.Advance(openFor)
			trial := b.lets("the trial")
			b.Leave(early, o, errAway)
			b.refuses("who comes during the trial")
			b.Leave(trial, Answered, nil)
			b.Leave(early, o, errAway)
			b.lets("who comes after the trial")
			b.lets("and the next")
		})
	}
}

// A failure that somebody else met counts, but not against a trial.
func TestBreakerIsTripped(t *testing.T) {
	b := newBreakerTest(t)
	early := b.lets("the first")
	b.Trip(errAway)
	b.refuses("who comes after that")
	b.Leave(early, Answered, nil)
	b.refuses("who comes after an answer to an earlier call")
	b.clock.Advance(openFor)
	trial := b.lets("the trial")
	b.Trip(errAway)
	b.Leave(trial, Answered, nil)
	b.lets("who comes after the trial")
}

// Who comes during a trial is not refused before it is known how that went.
func TestBreakerWaitsForTheTrial(t *testing.T) {
	for _, tt := range []struct {
		name  string
		trial Outcome
		want  bool
		took  time.Duration
	}{
		{"the database is back", Answered, true, 10 * time.Millisecond},
		{"it is not", Failed, false, 10 * time.Millisecond},
		{"it hangs", -1, false, trialTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New(options(clock.NewSystem()))
				b.Leave(0, Failed, errAway)
				time.Sleep(openFor)
				trial, err := b.Enter(t.Context())
				if err != nil {
					t.Fatalf("the trial: %v", err)
				}
				var others sync.WaitGroup
				for range 10 {
					others.Go(func() {
						start := time.Now()
						_, err := b.Enter(t.Context())
						if took := time.Since(start); (err == nil) != tt.want || took != tt.took {
							t.Errorf("let through: %v, after %s; want %v, after %s", err == nil, took, tt.want, tt.took)
						}
					})
				}
				time.Sleep(10 * time.Millisecond)
				if tt.trial >= 0 {
					b.Leave(trial, tt.trial, errAway)
				}
				others.Wait()
			})
		})
	}
}
