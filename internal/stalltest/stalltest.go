// Package stalltest tells a program that is late from a machine that stalls. It is for
// tests that measure time, and for them alone.
//
// A control process, which does nothing but look at the clock, stands still when the
// machine does: because it is too busy, or paused. What is late while the control process
// runs is a fault. What is late because of a stall is void: it shows nothing, and is
// counted. Where too much is void, or all of it, the test fails, because it would show
// nothing. So a test that measures once does it with [Control.Try], [Control.InTime] or
// [Control.Repeat], which measure again. Under the race detector no bound of time
// holds, so nothing is judged late: see [Race].
//
// The package processtest starts it.
package stalltest

import (
	"fmt"
	"testing"
	"time"

	"petcat/internal/processtest"
)

// Stall is for how long the control process stands still, at once, when the machine
// stalls: a request waits for the shared counters for 50 ms at most, and they for two
// such pauses.
const Stall = 20 * time.Millisecond

// mostVoid and mostVoidOf are how many measurements or attempts may be void: so many, and
// one in so many of those that were made.
const (
	mostVoid   = 3
	mostVoidOf = 20
)

// Control judges measurements by its control process. Use [Start]. Only one goroutine at a
// time may use it.
type Control struct {
	t            testing.TB
	process      *processtest.Process
	unbounded    bool // no bound of time holds
	judged, void int  // measurements, or attempts
	attempts     bool // an attempt is being made
	spoilt       bool // a measurement of it is void
}

// Start starts a control process, which ends with the test. The test fails if all that it
// judges is void.
func Start(t testing.TB) *Control {
	t.Helper()
	p, err := processtest.Start(name)
	if err != nil {
		t.Fatal(err)
	}
	c := &Control{t: t, process: p, unbounded: Race}
	t.Cleanup(func() {
		p.End()
		if c.void > 0 && c.void == c.judged && !t.Failed() {
			t.Errorf("all measurements are void, %d of %d, which shows nothing", c.void, c.judged)
		}
	})
	c.Lap()
	return c
}

// Lap returns for how long the control process stood still at most since the last Lap,
// and begins another one.
func (c *Control) Lap() (longest time.Duration) {
	c.t.Helper()
	longest, _ = c.ask(lap)
	return longest
}

func (c *Control) ask(question string) (longest, lost time.Duration) {
	c.t.Helper()
	longest, lost, err := answers(c.process, question)
	if err != nil {
		c.t.Fatalf("the control process: %v", err)
	}
	return longest, lost
}

// Judge fails the test when something took longer than bound, except for what the machine
// stood still since the last Lap. It repeats nothing, so it is for tests that measure the
// same often, and for attempts of Repeat.
func (c *Control) Judge(what string, took, bound time.Duration) {
	c.t.Helper()
	c.judge(what, lateness(took, bound), max(0, took-bound))
}

// Measure is Judge for how long fn takes.
func (c *Control) Measure(what string, bound time.Duration, fn func()) {
	c.t.Helper()
	c.Lap()
	began := time.Now()
	fn()
	c.Judge(what, time.Since(began), bound)
}

// Try is Repeat for an attempt that returns what was late, "" for nothing.
func (c *Control) Try(what string, attempt func() (late string)) {
	c.t.Helper()
	c.Repeat(func() { c.judge(what, attempt(), 0) })
}

// InTime is Repeat for an attempt that returns how long something took, which is late
// beyond bound.
func (c *Control) InTime(what string, bound time.Duration, attempt func() (took time.Duration)) {
	c.t.Helper()
	c.Repeat(func() { c.Judge(what, attempt(), bound) })
}

// Repeat makes an attempt, which measures something and judges it. An attempt that finds a
// fault by itself reports it. The machine may stall from the last Lap on: an attempt that
// prepares something calls Lap when it has. Another one is made only when the machine spoilt
// this, until as many were good as were void: nothing is repeated until it passes.
func (c *Control) Repeat(attempt func()) {
	c.t.Helper()
	for good, void := 0, 0; (good == 0 || good < void) && !c.t.Failed(); {
		c.Lap()
		c.attempts, c.spoilt = true, false
		attempt()
		c.attempts = false
		if c.spoilt {
			void++
		} else {
			good++
		}
		c.count(c.spoilt)
	}
}

// judge fails the test when something was late by so much, and the machine did not make it.
func (c *Control) judge(what, late string, by time.Duration) {
	c.t.Helper()
	if late != "" && c.unbounded {
		c.t.Logf("%s: %s; no fault under the race detector", what, late)
		late = ""
	}
	longest, lost := c.ask(look)
	void := late != ""
	switch {
	case void && (longest < Stall || lost < by):
		c.t.Errorf("%s: %s; the machine stood still for %s in all, %s at once", what, late, lost, longest)
		void = false
	case void:
		c.t.Logf("%s: %s; void, because the machine stood still for %s", what, late, lost)
	}
	if c.attempts {
		c.spoilt = c.spoilt || void
		return
	}
	c.count(void)
}

// count fails the test when too much is void.
func (c *Control) count(void bool) {
	c.t.Helper()
	c.judged++
	if !void {
		return
	}
	if c.void++; c.void > mostVoid+c.judged/mostVoidOf {
		c.t.Errorf("%d of %d measurements are void, which shows nothing", c.void, c.judged)
	}
}

func lateness(took, bound time.Duration) string {
	if took <= bound {
		return ""
	}
	return fmt.Sprintf("it took %s, want %s at most", took, bound)
}
