// Package stalltest tells a program that is late from a machine that stalls. It is for
// tests that measure time, and for them alone.
//
// A control process, which does nothing but look at the clock, stands still when the
// machine does: because it is too busy, or paused. What is late while the control process
// runs is a fault. What is late because of a stall is void: it shows nothing, and is
// counted. Where too much is void, the test fails, because it would show nothing.
//
// The package needs nothing but a second process of the test's own binary.
package stalltest

import (
	"fmt"
	"testing"
	"time"
)

// Stall is for how long the control process stands still, at once, when the machine
// stalls: a request waits for the shared counters for 50 ms at most, and they for two
// such pauses.
const Stall = 20 * time.Millisecond

// mostVoid and mostVoidOf are how many measurements may be void: so many, and one in so
// many of those that were made.
const (
	mostVoid   = 3
	mostVoidOf = 20
)

// Control judges measurements by its control process. Use [Start]. Only one goroutine at a
// time may use it.
type Control struct {
	t            testing.TB
	process      *process
	judged, void int
}

// Start starts a control process, which ends with the test.
func Start(t testing.TB) *Control {
	t.Helper()
	p, err := startProcess()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	c := &Control{t: t, process: p}
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
	longest, lost, err := c.process.answers(question)
	if err != nil {
		c.t.Fatalf("the control process: %v", err)
	}
	return longest, lost
}

// Judge fails the test when something took longer than bound, except for what the machine
// stood still since the last Lap. Nothing is repeated, so it is for tests that measure the
// same often.
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

// Try makes an attempt, which returns what was late, "" for nothing. It makes another one
// only when the machine spoilt this: nothing is repeated until it passes. An attempt that
// finds a fault by itself reports it.
func (c *Control) Try(what string, attempt func() (late string)) {
	c.t.Helper()
	c.try(what, func() (string, time.Duration) { return attempt(), 0 })
}

// InTime is Try for an attempt that returns how long something took, which is late beyond
// bound.
func (c *Control) InTime(what string, bound time.Duration, attempt func() (took time.Duration)) {
	c.t.Helper()
	c.try(what, func() (string, time.Duration) {
		took := attempt()
		return lateness(took, bound), max(0, took-bound)
	})
}

func (c *Control) try(what string, attempt func() (late string, by time.Duration)) {
	c.t.Helper()
	for again := true; again && !c.t.Failed(); {
		c.Lap()
		late, by := attempt()
		again = c.judge(what, late, by)
	}
}

// judge reports whether the machine made something late by so much, and fails the test when
// it did not, or did too often.
func (c *Control) judge(what, late string, by time.Duration) (void bool) {
	c.t.Helper()
	c.judged++
	longest, lost := c.ask(look)
	switch {
	case late == "":
		return false
	case longest < Stall || lost < by:
		c.t.Errorf("%s: %s; the machine stood still for %s in all, %s at once", what, late, lost, longest)
		return false
	}
	c.void++
	if c.void > mostVoid+c.judged/mostVoidOf {
		c.t.Errorf("%s: %s; the machine stood still for %s: %d of %d measurements are void, which shows nothing", what, late, lost, c.void, c.judged)
		return false
	}
	c.t.Logf("%s: %s; void, because the machine stood still for %s", what, late, lost)
	return true
}

func lateness(took, bound time.Duration) string {
	if took <= bound {
		return ""
	}
	return fmt.Sprintf("it took %s, want %s at most", took, bound)
}
