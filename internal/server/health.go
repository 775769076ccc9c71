package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"petcat/internal/ratelimit"
)

// phase is where a node is in its life.
type phase struct{ current atomic.Int32 }

const (
	starting int32 = iota
	serving
	draining
)

func (p *phase) set(to int32)     { p.current.Store(to) }
func (p *phase) is(at int32) bool { return p.current.Load() == at }

// Readiness is the answer of /readyz.
type Readiness struct {
	// Status is "ready", "degraded" (the node serves requests, but something that it
	// depends on is unavailable), "unavailable" (it has been for so long that the node
	// refuses all requests), "starting", "draining" or "failed". With the last four, no
	// requests should be sent to this node.
	Status string `json:"status"`
	// Checks has, for each part of the node, "ok" or what is wrong.
	Checks map[string]string `json:"checks"`
	// Parts are only in the answer of /readyz?verbose, by the names in Checks.
	Parts map[string]Part `json:"parts,omitempty"`
}

// Part is the state of one part of a node.
type Part struct {
	Healthy bool      `json:"healthy"`
	Since   time.Time `json:"since"`             // when Healthy last changed; not before the node was ready
	Problem string    `json:"problem,omitempty"` // what is wrong now
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
	switch status := n.backend.status(); {
	case hasFailed(n.backend):
		c.store, c.failed = "nothing can be written; a restart recovers what is there", true
	case !status.readable:
		c.store = "the database does not respond; the list of categories is served from memory, and all that needs the database fails"
	case !status.writable:
		c.store = "the database cannot be written; creates fail"
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

// readiness returns the answer of /readyz, and whether requests should be sent to this node.
func (n *Node) readiness() (r Readiness, ready bool) {
	if n.phase.is(starting) { // the parts do not exist yet
		return Readiness{Status: "starting", Checks: map[string]string{}}, false
	}
	c := n.condition()
	r = Readiness{Status: "ready", Checks: make(map[string]string), Parts: n.health.note(c)}
	for part, problem := range c.problems() {
		r.Checks[part] = "ok"
		if problem != "" {
			r.Status, r.Checks[part] = "degraded", problem
		}
	}
	if c.failed {
		r.Status = "failed"
		return r, false
	}
	if n.phase.is(draining) {
		r.Status = "draining"
		return r, false
	}
	if c.away {
		r.Status = "unavailable"
		return r, false
	}
	return r, true
}

// readyz answers 200 while requests should be sent here, else 503.
func (n *Node) readyz(w http.ResponseWriter, req *http.Request) {
	r, ready := n.readiness()
	if !req.URL.Query().Has("verbose") {
		r.Parts = nil
	}
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
