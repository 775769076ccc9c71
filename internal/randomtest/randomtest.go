// Package randomtest is for tests that take random steps: it chooses them by a seed,
// and remembers the last ones, to print when one fails. Seeds are fresh in each run
// ([Run]), and one that failed is kept. It is for tests alone.
package randomtest

import (
	"fmt"
	"math/rand/v2"
)

// Steps chooses steps and remembers what was noted of the last 40.
type Steps struct {
	*rand.Rand

	last  [40]string
	noted int
}

// New returns the steps of a seed: the same each time.
func New(seed uint64) *Steps { return &Steps{Rand: rand.New(rand.NewPCG(seed, 0))} }

// OneIn is true once in n times.
func (s *Steps) OneIn(n int) bool { return s.IntN(n) == 0 }

// Note remembers a step.
func (s *Steps) Note(format string, args ...any) {
	s.last[s.noted%len(s.last)] = fmt.Sprintf(format, args...)
	s.noted++
}

// Trail returns the steps that were noted last, a line each, the latest at the end.
func (s *Steps) Trail() (lines string) {
	for i := range s.last {
		if line := s.last[(s.noted+i)%len(s.last)]; line != "" {
			lines += "  " + line + "\n"
		}
	}
	return lines
}

// Pick returns one of several.
func Pick[T any](s *Steps, of ...T) T { return of[s.IntN(len(of))] }
