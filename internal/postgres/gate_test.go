package postgres

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petcat/internal/clock"
)

func TestGate(t *testing.T) {
	c := clock.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	g := gate{clock: c}
	away := errors.New("away")
	wantEnter := func(what string, want bool) {
		t.Helper()
		_, err := g.tryEnter(false)
		if (err == nil) != want {
			t.Fatalf("%s: let through: %v, want %v", what, err == nil, want)
		}
		if err != nil && (!errors.Is(err, away) || severityOf(err) != unreachable) {
			t.Errorf("%s: refused with %v", what, err)
		}
	}
	wantEnter("at first", true)
	wantEnter("a second one", true)
	g.leave(answered, nil)
	g.leave(noContact, away)
	wantEnter("after a failure", false)
	c.Advance(probeEvery - 1)
	wantEnter("a little later", false)
	c.Advance(1)
	wantEnter("the first to try again", true)
	wantEnter("a second one", false)
	g.leave(noContact, away)
	wantEnter("after another failure", false)
	c.Advance(probeEvery)
	wantEnter("the next to try", true)
	g.leave(notAsked, nil)
	wantEnter("in the place of one who gave up", true)
	if g.open() {
		t.Error("it counts as open before anybody was answered")
	}
	g.leave(answered, nil)
	wantEnter("after an answer", true)
	wantEnter("and the others", true)
	if !g.open() {
		t.Error("it counts as closed")
	}
}

// What was reached by another way is taken to be there, unless somebody is about
// to find out.
func TestGateIsReopened(t *testing.T) {
	c := clock.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	g := gate{clock: c}
	g.leave(noContact, errors.New("away"))
	g.reopen()
	if !g.open() {
		t.Error("it stays closed")
	}
	g.leave(noContact, errors.New("away"))
	c.Advance(probeEvery)
	if err := g.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.reopen()
	if g.open() {
		t.Error("it is opened over the head of somebody who tries")
	}
}

// Who would queue behind an attempt is told at once.
func TestGateIsHopelessWhileSomebodyTries(t *testing.T) {
	c := clock.NewManual(time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC))
	g := gate{clock: c}
	away := errors.New("away")
	want := func(what string, hopeless bool) {
		t.Helper()
		err := g.hopeless()
		if (err != nil) != hopeless || hopeless && (!errors.Is(err, away) || severityOf(err) != unreachable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	want("at first", false)
	g.leave(noContact, away)
	c.Advance(time.Hour)
	want("long after a failure, for somebody has to try", false)
	if err := g.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("while somebody tries", true)
	g.leave(noContact, away)
	want("when it has failed", false)
	c.Advance(probeEvery)
	if err := g.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.leave(answered, nil)
	want("after an answer", false)
}

// Who comes while somebody tries is not refused before it is known how that went.
func TestGateWaitsForTheProbe(t *testing.T) {
	away := errors.New("away")
	for _, tt := range []struct {
		name  string
		probe outcome
		want  bool
		took  time.Duration
	}{
		{"the database is back", answered, true, 10 * time.Millisecond},
		{"it is not", noContact, false, 10 * time.Millisecond},
		{"it hangs", -1, false, probePatience},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gate{clock: clock.NewSystem()}
				g.leave(noContact, away)
				time.Sleep(probeEvery)
				if err := g.enter(t.Context()); err != nil {
					t.Fatalf("the probe: %v", err)
				}
				var others sync.WaitGroup
				for range 10 {
					others.Go(func() {
						start := time.Now()
						err := g.enter(t.Context())
						if took := time.Since(start); (err == nil) != tt.want || took != tt.took {
							t.Errorf("let through: %v, after %s; want %v, after %s", err == nil, took, tt.want, tt.took)
						}
					})
				}
				time.Sleep(10 * time.Millisecond)
				if tt.probe >= 0 {
					g.leave(tt.probe, away)
				}
				others.Wait()
			})
		})
	}
}
