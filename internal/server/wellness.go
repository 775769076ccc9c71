package server

import (
	"context"
	"sync"

	"petcat/internal/clock"
)

// wellness remembers since when each part of a node has been well or unwell.
type wellness struct {
	clock clock.Clock

	mu    sync.Mutex
	known map[string]Part // guarded by mu; the last state of each part, by its name
}

// note records the state of the parts now, and returns it.
func (w *wellness) note(c condition) map[string]Part {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, seen := w.clock.Read().Time(), make(map[string]Part)
	for name, trouble := range c.troubles() {
		part, known := w.known[name]
		if well := trouble == ""; !known || part.Well != well {
			part = Part{Well: well, Since: now}
		}
		part.Trouble = trouble
		seen[name] = part
	}
	w.known = seen
	return seen
}

// look checks the backend, and records the state of each part, so that both are up to date
// even without requests.
func (n *Node) look(ctx context.Context) {
	n.backend.check(ctx)
	if !n.phase.is(starting) {
		_ = n.wellness.note(n.condition())
	}
}
