package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"petcat/internal/ratelimit"
)

// The phases of a node's life.
const (
	starting int32 = iota
	serving
	draining
)

// checkInterval is how often a node checks its backend. So /readyz and the metrics show a
// failure within this time and that of one query, even without requests.
const checkInterval = time.Second

// health is what a node knows of itself.
type health struct {
	phase atomic.Int32

	mu    sync.Mutex
	since map[string]time.Time // when each unhealthy part became so, by its name; guarded by mu
}

// Readiness is the answer of /readyz.
type Readiness struct {
	// Status is "ready", "degraded" (the node serves requests, but something that it
	// depends on is unavailable), "unavailable" (it has been for so long that the node
	// refuses all requests), "starting", "draining", "drained" (by an operator) or "failed".
	// With the last five, no requests should be sent to this node.
	Status string `json:"status"`
	// Checks has, for each part of the node, "ok" or what is wrong.
	Checks map[string]string `json:"checks"`
	// Since has, for each unhealthy part, when it became so.
	Since map[string]time.Time `json:"since,omitempty"`
}

// condition says how a node is. Both /readyz and the metrics use it, so they cannot disagree.
type condition struct {
	problems map[string]string // what is wrong with each unhealthy part
	failed   bool              // nothing can be written until the program is started again
	away     bool              // every request is refused, because the database has not answered for 30 s
}

// parts returns the parts of a node.
func parts() []string { return []string{"store", "limiter", "keyring"} }

// condition returns the state of every part.
func (n *Node) condition() condition {
	c := condition{problems: make(map[string]string)}
	select {
	case <-n.backend.Failed():
		c.problems["store"], c.failed = "nothing can be written; a restart recovers what is there", true
	default:
		if status := n.backend.status(); !status.readable {
			c.problems["store"] = "the database does not respond; the list of categories is served from memory, and all that needs the database fails"
		} else if !status.writable {
			c.problems["store"] = "the database cannot be written; creates fail"
		}
	}
	counting := n.limiter.Err()
	if !n.keyring.Trusted() {
		c.problems["keyring"], c.away = "access changes could not be read for 30 seconds; no key is trusted", true
	}
	c.away = c.away || errors.Is(counting, ratelimit.ErrAway)
	if counting != nil && c.away {
		c.problems["limiter"] = "the database has not counted requests for 30 seconds; all requests are refused"
	} else if counting != nil {
		c.problems["limiter"] = "the database does not count requests; this node counts in memory"
	}
	return c
}

// check checks the backend, and notes since when parts are unhealthy, so that both are up to
// date even without requests.
func (n *Node) check(ctx context.Context) {
	n.backend.check(ctx)
	n.noteSince(n.condition())
}

// noteSince returns when each unhealthy part became so.
func (n *Node) noteSince(c condition) map[string]time.Time {
	n.health.mu.Lock()
	defer n.health.mu.Unlock()
	since := make(map[string]time.Time)
	for part := range c.problems {
		at, known := n.health.since[part]
		if !known {
			at = n.clock.Read().Time()
		}
		since[part] = at
	}
	n.health.since = since // it is never changed
	return since
}

// readiness returns the answer of /readyz, and whether requests should be sent to this node.
func (n *Node) readiness() (r Readiness, ready bool) {
	phase := n.health.phase.Load()
	if phase == starting { // the parts do not exist yet
		return Readiness{Status: "starting", Checks: map[string]string{}}, false
	}
	c := n.condition()
	r = Readiness{Status: "ready", Checks: make(map[string]string), Since: n.noteSince(c)}
	for _, part := range parts() {
		r.Checks[part] = cmp.Or(c.problems[part], "ok")
	}
	if len(c.problems) > 0 {
		r.Status = "degraded"
	}
	switch {
	case c.failed:
		r.Status = "failed"
	case phase == draining:
		r.Status = "draining"
	case c.away:
		r.Status = "unavailable"
	case n.membership.own().Drained:
		r.Status = "drained"
	default:
		return r, true
	}
	return r, false
}

// state returns the status of /readyz.
func (n *Node) state() string {
	r, _ := n.readiness()
	return r.Status
}

// readyz answers 200 while requests should be sent here, else 503.
func (n *Node) readyz(w http.ResponseWriter, _ *http.Request) {
	r, ready := n.readiness()
	if ready {
		writeJSON(w, http.StatusOK, r)
	} else {
		writeJSON(w, http.StatusServiceUnavailable, r)
	}
}

// livez answers 200 for as long as the process can answer at all. A supervisor should
// restart the process only when it does not.
func livez(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("ok\n"))
}
