package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"petcat"
	"petcat/internal/console"
	"petcat/internal/ratelimit"
)

const (
	// checkInterval is the interval between a node's health checks. /readyz and the metrics show
	// a failure within checkInterval and checkTimeout, even without requests.
	checkInterval = time.Second
	// checkTimeout is the time for the store to respond to a check.
	checkTimeout = 2 * time.Second
)

// Readiness is the response of /readyz.
type Readiness struct {
	// Status is "ready", "degraded" (the node serves requests, but a dependency is unavailable),
	// "unavailable" (a dependency has been unavailable so long that the node rejects all
	// requests), "starting", "draining", "drained" (by an operator) or "failed". Proxies should
	// send requests only to nodes that are ready or degraded.
	Status string `json:"status"`
	// Checks has "ok" or the problem for each part of the node.
	Checks map[string]string `json:"checks"`
	// Since has the start of the problem for each unhealthy part.
	Since map[string]time.Time `json:"since,omitempty"`
}

// condition is the state of a node's parts at one check. It is never changed. /readyz, the
// metrics and the console share it, so they always agree.
type condition struct {
	parts  []console.Part
	failed bool // nothing can be written until the program is restarted
	away   bool // every request is rejected, because the database has not responded for 30 s
}

const healthy = "ok"

// check updates the node's condition.
func (n *Node) check(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := n.db.Check(limited)
	if ctx.Err() == nil {
		n.condition.Store(n.examine(err).after(n.condition.Load(), n.Clock.Read().Time()))
	}
}

// examine returns the current condition. stored is the result of a check of the store.
func (n *Node) examine(stored error) *condition {
	c := &condition{parts: []console.Part{
		{Name: "store"},
		{Name: "limiter"},
		{Name: "keyring"},
	}}
	store, limiter, keyring := &c.parts[0], &c.parts[1], &c.parts[2]
	switch e, ok := errors.AsType[*petcat.UnusableError](stored); {
	case n.db.Err() != nil:
		store.Problem = "nothing can be written; check the disk, then restart petcat to recover"
		c.failed = true
	case ok:
		store.Problem = e.Message
	case stored != nil:
		store.Problem = "the database does not respond"
	}
	if !n.keyring.Trusted() {
		keyring.Problem = "access changes could not be read for 30 seconds; no key is trusted"
		c.away = true
	}
	counting := n.limiter.Err()
	c.away = c.away || errors.Is(counting, ratelimit.ErrDown)
	if counting != nil && c.away {
		limiter.Problem = "the database has not counted requests for 30 seconds; all requests are rejected"
	} else if counting != nil {
		limiter.Problem = "the database does not count requests; this node counts in memory"
	}
	return c
}

// after sets the start of each problem: now, or the start of an earlier problem of the same part.
func (c *condition) after(before *condition, now time.Time) *condition {
	for i := range c.parts {
		part := &c.parts[i]
		if part.Problem == "" {
			continue
		}
		part.Since = now
		if before != nil && before.parts[i].Problem != "" {
			part.Since = before.parts[i].Since
		}
	}
	return c
}

// readiness returns the response of /readyz, and whether the node is ready for requests.
func (n *Node) readiness() (r Readiness, ready bool) {
	r = Readiness{
		Status: "starting",
		Checks: map[string]string{},
		Since:  map[string]time.Time{},
	}
	c := n.condition.Load()
	if c == nil {
		return r, false
	}
	for _, part := range c.parts {
		r.Checks[part.Name] = cmp.Or(part.Problem, healthy)
		if part.Problem != "" {
			r.Since[part.Name] = part.Since
		}
	}
	switch {
	case c.failed:
		r.Status = "failed"
	case n.draining.Load():
		r.Status = "draining"
	case c.away:
		r.Status = "unavailable"
	case n.self().Drained:
		r.Status = "drained"
	case len(r.Since) > 0:
		r.Status = "degraded"
		return r, true
	default:
		r.Status = "ready"
		return r, true
	}
	return r, false
}

// readyz responds with 200 while the node is ready for requests, else with 503.
func (n *Node) readyz(w http.ResponseWriter, _ *http.Request) {
	r, ready := n.readiness()
	status := http.StatusServiceUnavailable
	if ready {
		status = http.StatusOK
	}
	writeJSON(w, status, r)
}

// livez always responds with 200. A supervisor should restart the process only if it gets no
// response.
func livez(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("ok\n"))
}

func gauge(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
