package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
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
	// refuses all requests), "starting", "draining" or "failed". With the last four, no
	// requests should be sent to this node.
	Status string `json:"status"`
	// Checks has, for each part of the node, "ok" or what is wrong.
	Checks map[string]string `json:"checks"`
	// Since has, for each unhealthy part, when it became so.
	Since map[string]time.Time `json:"since,omitempty"`
}

// condition says what is wrong with each part of a node, "" while it is healthy. Both /readyz
// and the metrics use it, so they cannot disagree.
type condition struct {
	store, limiter, keyring string
	failed                  bool // nothing can be written until the program is started again
	away                    bool // every request is refused, because the database has not answered for 30 s
}

// problems returns what is wrong with each part, by its name.
func (c condition) problems() map[string]string {
	return map[string]string{"store": c.store, "limiter": c.limiter, "keyring": c.keyring}
}

// condition returns the state of every part.
func (n *Node) condition() (c condition) {
	select {
	case <-n.backend.Failed():
		c.store, c.failed = "nothing can be written; a restart recovers what is there", true
	default:
		if status := n.backend.status(); !status.readable {
			c.store = "the database does not respond; the list of categories is served from memory, and all that needs the database fails"
		} else if !status.writable {
			c.store = "the database cannot be written; creates fail"
		}
	}
	if err := n.limiter.Err(); err != nil {
		c.limiter, c.away = "the database does not count requests; this node counts in memory", errors.Is(err, ratelimit.ErrAway)
	}
	if !n.keyring.Trusted() {
		c.keyring, c.away = "access changes could not be read for 30 seconds; no key is trusted", true
	}
	if c.away && c.limiter != "" {
		c.limiter = "the database has not counted requests for 30 seconds; all requests are refused"
	}
	return c
}

// check checks the backend, and notes since when parts are unhealthy, so that both are up to
// date even without requests.
func (n *Node) check(ctx context.Context) {
	n.backend.check(ctx)
	n.noteSince(n.condition())
}

// noteSince returns when each unhealthy part became so, nil if there is none.
func (n *Node) noteSince(c condition) map[string]time.Time {
	n.health.mu.Lock()
	defer n.health.mu.Unlock()
	before := n.health.since
	n.health.since = nil
	for part, problem := range c.problems() {
		if problem == "" {
			continue
		}
		if n.health.since == nil {
			n.health.since = make(map[string]time.Time)
		}
		at, known := before[part]
		if !known {
			at = n.clock.Read().Time()
		}
		n.health.since[part] = at
	}
	return maps.Clone(n.health.since)
}

// readiness returns the answer of /readyz, and whether requests should be sent to this node.
func (n *Node) readiness() (r Readiness, ready bool) {
	phase := n.health.phase.Load()
	if phase == starting { // the parts do not exist yet
		return Readiness{Status: "starting", Checks: map[string]string{}}, false
	}
	c := n.condition()
	r = Readiness{Status: "ready", Checks: make(map[string]string), Since: n.noteSince(c)}
	for part, problem := range c.problems() {
		r.Checks[part] = "ok"
		if problem != "" {
			r.Status, r.Checks[part] = "degraded", problem
		}
	}
	switch {
	case c.failed:
		r.Status = "failed"
	case phase == draining:
		r.Status = "draining"
	case c.away:
		r.Status = "unavailable"
	default:
		return r, true
	}
	return r, false
}

// readyz answers 200 while requests should be sent here, else 503.
func (n *Node) readyz(w http.ResponseWriter, _ *http.Request) {
	r, ready := n.readiness()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(r) // fails only when the client has gone
}

// livez answers 200 for as long as the process can answer at all. A supervisor should
// restart the process only when it does not.
func livez(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("ok\n"))
}
