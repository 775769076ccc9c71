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

// readiness looks at every part.
func (n *node) readiness() (r readiness, ready bool) {
	if phase(n.health.phase.Load()) == starting { // nothing can be looked at yet
		return readiness{Status: "starting", Checks: map[string]string{}}, false
	}
	r = readiness{Status: "ready", Checks: map[string]string{"store": "ok", "limiter": "ok", "keyring": "ok"}}
	if trouble := n.limiter.trouble(); trouble != "" {
		r.Status, r.Checks["limiter"] = "degraded", trouble
	}
	if !n.store.readable() || !n.store.writable() {
		r.Status, r.Checks["store"] = "degraded", "the database does not answer; lists are what was last known, and creates fail"
	}
	if !n.keyring.Stats().Trusted {
		r.Status, r.Checks["keyring"] = "degraded", "the change log cannot be read; every key is looked up in the store"
	}
	select {
	case <-n.store.failed:
		r.Status, r.Checks["store"] = "failed", "writing failed; a restart recovers from what is on disk"
		return r, false
	default:
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
