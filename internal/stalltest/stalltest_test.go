//go:build unix

package stalltest

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// told is a test that takes note of what it is told.
type told struct {
	testing.TB
	errors, logs []string
	cleanups     []func()
}

func (t *told) Cleanup(fn func()) { t.cleanups = append(t.cleanups, fn) }

// end is the end of the test that is told.
func (t *told) end() {
	for _, fn := range slices.Backward(t.cleanups) {
		fn()
	}
	t.cleanups = nil
}

func (t *told) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func (t *told) Logf(format string, args ...any) {
	t.logs = append(t.logs, fmt.Sprintf(format, args...))
}
func (t *told) Failed() bool { return len(t.errors) > 0 }

// judging returns a control that tells its own test, and a way to let the machine stall:
// for the control process there is no difference.
func judging(t *testing.T) (c *Control, to *told, stall func(time.Duration)) {
	t.Helper()
	to = &told{TB: t}
	c = Start(to)
	c.unbounded = false // it judges under the race detector, too
	t.Cleanup(to.end)
	signal := func(s syscall.Signal) {
		if err := c.process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	return c, to, func(d time.Duration) {
		signal(syscall.SIGSTOP)
		<-time.After(d) // which is how long it stands still
		signal(syscall.SIGCONT)
	}
}

// calmly does something in a window in which the machine does not stall by itself: in any
// other one, what is told is forgotten.
func calmly(t *testing.T, c *Control, to *told, do func()) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		c.Lap()
		do()
		if stood, _ := c.ask(look); stood < Stall {
			return
		}
		c.judged, c.void, to.errors, to.logs = 0, 0, nil, nil
	}
	t.Fatal("the machine stalls all the time, for a minute")
}

func TestLateWithoutAStallIsAFault(t *testing.T) {
	c, to, _ := judging(t)
	c.Measure("it", time.Minute, func() {})
	if to.Failed() {
		t.Errorf("in time: %v", to.errors)
	}
	c.Judge("it", 2*time.Hour, time.Hour) // by more than any stall
	if len(to.errors) != 1 || !strings.Contains(to.errors[0], "it took 2h0m0s, want 1h0m0s at most") {
		t.Errorf("late: %q", to.errors)
	}
}

func TestNothingIsLateUnderTheRaceDetector(t *testing.T) {
	c, to, _ := judging(t)
	c.unbounded = true
	c.Judge("it", 2*time.Hour, time.Hour)
	c.Try("it", func() string { return "it was late" })
	if to.end(); to.Failed() || c.judged != 2 || c.void != 0 || len(to.logs) != 2 {
		t.Errorf("%d judged, %d void: %q, %q", c.judged, c.void, to.errors, to.logs)
	}
}

// A stall excuses what it takes itself, and no more.
func TestStallExcusesItsOwnLength(t *testing.T) {
	c, to, stall := judging(t)
	stall(200 * time.Millisecond)
	c.Judge("it", 250*time.Millisecond, 100*time.Millisecond)
	if to.Failed() || len(to.logs) != 1 || !strings.Contains(to.logs[0], "void") {
		t.Errorf("late by less than the stall: %q, %q", to.errors, to.logs)
	}
	c.Judge("it", 2*time.Hour, time.Hour)
	if !to.Failed() {
		t.Error("late by an hour, with a stall of 200 ms, and no fault")
	}
}

// What was late twice because of the machine must be in time as often.
func TestTryRepeatsWhatTheMachineSpoilt(t *testing.T) {
	c, to, stall := judging(t)
	attempts := 0
	c.Try("it", func() (late string) {
		if attempts++; attempts > 2 {
			return ""
		}
		stall(2 * Stall)
		return "it was late"
	})
	if attempts != 4 || to.Failed() {
		t.Errorf("%d attempts; %q", attempts, to.errors)
	}
	c.InTime("it", time.Hour, func() time.Duration { attempts++; return 2 * time.Hour })
	if attempts != 5 || !to.Failed() {
		t.Errorf("%d attempts, the last late by more than any stall; %q", attempts, to.errors)
	}
	to.errors = nil
	calmly(t, c, to, func() {
		attempts = 0
		c.Try("it", func() (late string) { attempts++; return "it was late" })
	})
	if attempts != 1 || !to.Failed() {
		t.Errorf("%d attempts without a stall; %q", attempts, to.errors)
	}
}

// What an attempt prepares before its Lap may be held up: that excuses nothing.
func TestLapBeginsWhatIsMeasured(t *testing.T) {
	c, to, stall := judging(t)
	calmly(t, c, to, func() {
		c.Try("it", func() (late string) {
			stall(2 * Stall)
			c.Lap()
			return "it was late"
		})
	})
	if !to.Failed() {
		t.Error("late after a stall, and no fault")
	}
}

// An attempt is void as a whole, however many of its measurements are.
func TestRepeatJudgesAttempts(t *testing.T) {
	c, to, stall := judging(t)
	attempts := 0
	c.Repeat(func() {
		if attempts++; attempts > 1 {
			return
		}
		stall(200 * time.Millisecond)
		for range mostVoid + 1 {
			c.Judge("it", 250*time.Millisecond, 100*time.Millisecond)
		}
	})
	if attempts != 2 || to.Failed() || len(to.logs) != mostVoid+1 {
		t.Errorf("%d attempts; %q, %q", attempts, to.errors, to.logs)
	}
}

// A test whose measurements are all void has measured nothing.
func TestAllVoidIsAFault(t *testing.T) {
	for _, good := range []bool{false, true} {
		c, to, stall := judging(t)
		stall(200 * time.Millisecond)
		c.Judge("it", 250*time.Millisecond, 100*time.Millisecond)
		if good {
			c.Judge("it", 0, time.Hour)
		}
		if to.Failed() {
			t.Errorf("one is void: %q", to.errors)
		}
		if to.end(); to.Failed() == good {
			t.Errorf("one in time: %v, and at the end: %q", good, to.errors)
		}
	}
}

func TestTooManyVoidsAreAFault(t *testing.T) {
	c, to, stall := judging(t)
	attempts := 0
	c.Try("it", func() (late string) {
		attempts++
		stall(2 * Stall)
		return "it was late"
	})
	if attempts != mostVoid+1 || len(to.errors) != 1 || !strings.Contains(to.errors[0], "4 of 4 measurements are void") {
		t.Errorf("%d attempts; %q", attempts, to.errors)
	}
}
