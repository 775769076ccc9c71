package server

import (
	"context"
	"sync"

	"petcat/internal/clock"
)

// healthHistory remembers since when each part of a node has been healthy or unhealthy.
type healthHistory struct {
	clock clock.Clock

	mu    sync.Mutex
	known map[string]Part // guarded by mu; the last state of each part, by its name
}

// note records the state of the parts now, and returns it.
func (h *healthHistory) note(c condition) map[string]Part {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, seen := h.clock.Read().Time(), make(map[string]Part)
	for name, problem := range c.problems() {
		part, known := h.known[name]
		if healthy := problem == ""; !known || part.Healthy != healthy {
			part = Part{Healthy: healthy, Since: now}
		}
		part.Problem = problem
		seen[name] = part
	}
	h.known = seen
	return seen
}

// check checks the backend, and records the state of each part, so that both are up to date
// even without requests.
func (n *Node) check(ctx context.Context) {
	n.backend.check(ctx)
	if !n.phase.is(starting) {
		n.limiter.Check()
		_ = n.health.note(n.condition())
	}
}
