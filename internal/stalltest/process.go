package stalltest

import (
	"fmt"
	"sync"
	"time"

	"petcat/internal/processtest"
)

// name is how a test's binary is called as the control process.
const name = "petcat-control"

// gap is how late a look at the clock, due each millisecond, must be to count as a stall
// of the machine.
const gap = 5 * time.Millisecond

func init() { processtest.Main(name, control) } //nolint:gochecknoinits // no package's tests need to know of it

// The questions to a control process.
const (
	// lap asks for how long it stood still since the last lap, and begins the next one.
	lap = "lap"
	// look asks the same and begins nothing.
	look = "look"
)

// answers returns for how long the process stood still, at most at once and in all, since
// the last lap.
func answers(p *processtest.Process, question string) (longest, lost time.Duration, err error) {
	line, err := p.Ask(question)
	if err == nil {
		_, err = fmt.Sscan(line, (*int64)(&longest), (*int64)(&lost))
	}
	return longest, lost, err
}

// control is the control process: it answers each question by for how many nanoseconds it
// stood still, at most and in all.
func control() (answer func(question string) string) {
	var mu sync.Mutex
	last, longest, lost := time.Now(), time.Duration(0), time.Duration(0) // all guarded by mu
	now := func() {
		stood := time.Since(last)
		last, longest = last.Add(stood), max(longest, stood)
		if stood > gap {
			lost += stood
		}
	}
	go func() {
		for range time.Tick(time.Millisecond) {
			mu.Lock()
			now()
			mu.Unlock()
		}
	}()
	return func(question string) string {
		mu.Lock()
		defer mu.Unlock()
		now()
		answer := fmt.Sprint(longest.Nanoseconds(), " ", lost.Nanoseconds())
		if question == lap {
			longest, lost = 0, 0
		}
		return answer
	}
}
