//go:build faults

package fault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Enabled tells whether the program was built with fault points.
const Enabled = true

// Error is what [Hit] returns where PETCAT_FAULT asks for an error.
type Error struct{ Point Point }

// Error names the point.
func (e *Error) Error() string { return "fault injected at " + string(e.Point) }

// plan is what PETCAT_FAULT asks for.
type plan struct {
	point Point
	kill  bool
	at    int64 // the hit that fails, from 1
	hits  atomic.Int64
}

// chosen is the one piece of package state, allowed because this file is never
// part of a released program.
var chosen = sync.OnceValue(func() *plan {
	p, err := parse(os.Getenv(Variable)) //nolint:forbidigo // no setting: it is not in a released program
	if err != nil {
		// A misspelt fault would make a test pass that tests nothing.
		panic(err)
	}
	return p
})

// parse reads "point=action" or "point=action@N"; "" means no fault.
func parse(s string) (*plan, error) {
	p := &plan{at: 1}
	if s == "" {
		return p, nil
	}
	name, action, _ := strings.Cut(s, "=")
	action, nth, counted := strings.Cut(action, "@")
	if counted {
		n, err := strconv.ParseInt(nth, 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s: the count must be a number from 1 (got %q)", Variable, nth)
		}
		p.at = n
	}
	for _, known := range Points() {
		if string(known) == name && (action == "kill" || action == "error") {
			p.point, p.kill = known, action == "kill"
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s must be one of %v, with =kill or =error (got %q)", Variable, Points(), s)
}

// Hit fails here when PETCAT_FAULT asks for it.
func Hit(point Point) error {
	p := chosen()
	if p.point != point || p.hits.Add(1) != p.at {
		return nil
	}
	if p.kill {
		// SIGKILL cannot be caught: no deferred call runs, nothing is flushed.
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return &Error{Point: point}
}
