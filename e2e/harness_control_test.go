package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// controlName is how the test binary is called as the control process.
const controlName = "petcat-control"

const (
	// stall is how long the control process stands still when the machine stalls:
	// a request waits for 50 ms at most, for an answer of another process that is
	// stalled as this one is.
	stall = 20 * time.Millisecond
	// mostSpoilt is how many attempts to see something the machine may spoil.
	mostSpoilt = 3
)

// control is a process that does nothing but look at the clock. How long it stands
// still tells a machine that is too busy, or paused, from a fault.
type control struct {
	t      testing.TB
	ask    io.Writer
	answer *bufio.Reader
}

func startControl(t testing.TB) *control {
	t.Helper()
	executable, err := os.Executable()
	must(t, err)
	cmd := exec.Command(executable)
	cmd.Args[0] = controlName
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = diesWithTest()
	ask, err := cmd.StdinPipe()
	must(t, err)
	answer, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = ask.Close() // ends it
		_ = cmd.Wait()
	})
	c := &control{t: t, ask: ask, answer: bufio.NewReader(answer)}
	c.lap()
	return c
}

// lap returns for how long the control process stood still at most since the last
// lap.
func (c *control) lap() time.Duration {
	c.t.Helper()
	_, err := io.WriteString(c.ask, "\n")
	must(c.t, err)
	line, err := c.answer.ReadString('\n')
	must(c.t, err)
	n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	must(c.t, err)
	return time.Duration(n)
}

// runControl is the control process: for each line that it reads it writes how many
// nanoseconds it stood still at most since the last.
func runControl() {
	var mu sync.Mutex
	last, longest := time.Now(), time.Duration(0) // both guarded by mu
	look := func() {
		now := time.Now()
		last, longest = now, max(longest, now.Sub(last))
	}
	go func() {
		for range time.Tick(time.Millisecond) {
			mu.Lock()
			look()
			mu.Unlock()
		}
	}()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		mu.Lock()
		look()
		fmt.Println(longest.Nanoseconds())
		longest = 0
		mu.Unlock()
	}
}

// attempts counts those that the machine spoilt. Nothing is repeated until it
// passes: an attempt that does not show what it should is a fault, unless the
// machine stalled in it.
type attempts struct {
	*control

	spoilt int
}

// try makes attempts until one says that nothing was late, or shows a fault.
// Attempt returns what was late, "" for nothing.
func (a *attempts) try(what string, attempt func() (late string)) {
	a.t.Helper()
	for !a.t.Failed() {
		a.lap()
		late := attempt()
		if late == "" {
			return
		}
		stood := a.lap()
		if stood < stall {
			a.t.Fatalf("%s: %s, and the machine did not stall: it stood still for %s at most", what, late, stood)
		}
		if a.spoilt++; a.spoilt > mostSpoilt {
			a.t.Fatalf("%s: %s, and the machine stalled for %s; it has spoilt %d attempts of this test", what, late, stood, a.spoilt)
		}
		a.t.Logf("%s: %s, and the machine stalled for %s: once more", what, late, stood)
	}
}
