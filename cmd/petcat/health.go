package main

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
)

// phase is where a node is in its life.
type phase int32

const (
	starting phase = iota
	serving
	draining
)

// health tells proxies and supervisors how the node is.
type health struct{ phase atomic.Int32 }

func (h *health) ready() { h.phase.Store(int32(serving)) }
func (h *health) drain() { h.phase.Store(int32(draining)) }

// readiness is the answer of /readyz.
type readiness struct {
	// Status is "ready", "degraded" (it answers, but something is wrong),
	// "starting", "draining" or "failed". All but the first two mean: send
	// nothing here.
	Status string            `json:"status"`
	Checks map[string]string `json:"checks"`
}

// condition is how the parts of a node are: what is wrong with each, "" while all is
// well. Both /readyz and the metrics tell it, so they cannot disagree.
type condition struct {
	store, limiter, keyring string
	failed                  bool // nothing can be written until the program is started again
}

// condition looks at every part.
func (n *node) condition() (c condition) {
	switch {
	case n.store.hasFailed():
		c.store, c.failed = "writing failed; a restart recovers from what is on disk", true
	case !n.store.readable():
		c.store = "the database does not answer; lists are what was last known, and creates fail"
	case !n.store.writable():
		c.store = "the database cannot be written; creates fail"
	}
	c.limiter = n.limiter.trouble()
	if c.limiter == "" && c.store != "" {
		c.limiter = cannotSave // which nobody would find out before the next request
	}
	if !n.keyring.Stats().Trusted {
		c.keyring = "the change log cannot be read; every key is looked up in the store"
	}
	return c
}

// readiness is what a node's condition means for who sends requests.
func (n *node) readiness() (r readiness, ready bool) {
	if phase(n.health.phase.Load()) == starting { // nothing can be looked at yet
		return readiness{Status: "starting", Checks: map[string]string{}}, false
	}
	c := n.condition()
	r = readiness{Status: "ready", Checks: map[string]string{"store": "ok", "limiter": "ok", "keyring": "ok"}}
	for part, trouble := range map[string]string{"store": c.store, "limiter": c.limiter, "keyring": c.keyring} {
		if trouble != "" {
			r.Status, r.Checks[part] = "degraded", trouble
		}
	}
	if c.failed {
		r.Status = "failed"
		return r, false
	}
	if phase(n.health.phase.Load()) == draining {
		r.Status = "draining"
		return r, false
	}
	return r, true
}

// readyz answers 200 while requests should be sent here, else 503.
func (n *node) readyz(w http.ResponseWriter, _ *http.Request) {
	r, ready := n.readiness()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(r) // the asker has gone
}

// livez answers 200 for as long as the process can answer at all: only when it
// does not should a supervisor kill it.
func livez(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("ok\n"))
}
