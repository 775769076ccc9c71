package server

import (
	"context"
	"sync"

	"petcat/internal/clock"
)

// wellness remembers since when each part of a node is well, or not.
type wellness struct {
	clock clock.Clock

	mu    sync.Mutex
	known map[string]Part // guarded by mu; as it was last seen, by its name
}

// note takes down how the parts are now, and returns them.
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

// look sees how the backend is, and since when each part is as it is, whether or not
// anybody asks.
func (n *Node) look(ctx context.Context) {
	n.backend.check(ctx)
	if !n.phase.is(starting) {
		_ = n.wellness.note(n.condition())
	}
}
