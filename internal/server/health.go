package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"petcat/internal/openerror"
	"petcat/internal/ratelimit"
)

const (
	// checkInterval is how often a node checks its parts. So /readyz and the metrics show a
	// failure within this time and checkTimeout, even without requests.
	checkInterval = time.Second
	// checkTimeout is how long the store gets to respond to a check.
	checkTimeout = 2 * time.Second
)

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

// condition says how the parts of a node are. It is never changed. /readyz, the metrics and
// the console use the same one, so they cannot disagree.
type condition struct {
	checks map[string]string    // for each part "ok", or what is wrong
	since  map[string]time.Time // when each unhealthy part became so
	failed bool                 // nothing can be written until the program is started again
	away   bool                 // every request is refused, because the database has not answered for 30 s
}

const healthy = "ok"

// healthy reports whether a part is healthy. Nothing is before the first check.
func (c *condition) healthy(part string) bool { return c != nil && c.checks[part] == healthy }

// check notes the condition of every part.
func (n *Node) check(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := n.store.Check(limited)
	if ctx.Err() == nil {
		n.condition.Store(n.examine(err).after(n.condition.Load(), n.Clock.Read().Time()))
	}
}

// examine returns the condition of every part. stored is what a check of the store returned.
func (n *Node) examine(stored error) *condition {
	c := &condition{checks: map[string]string{"store": healthy, "limiter": healthy, "keyring": healthy}}
	select {
	case <-n.store.Failed():
		c.checks["store"], c.failed = "nothing can be written; check the disk and start petcat again, which recovers what is there", true
	default:
		if e, ok := errors.AsType[*openerror.Error](stored); ok {
			c.checks["store"] = e.Message
		} else if stored != nil {
			c.checks["store"] = "the database does not respond"
		}
	}
	counting := n.limiter.Err()
	if !n.keyring.Trusted() {
		c.checks["keyring"], c.away = "access changes could not be read for 30 seconds; no key is trusted", true
	}
	c.away = c.away || errors.Is(counting, ratelimit.ErrAway)
	if counting != nil && c.away {
		c.checks["limiter"] = "the database has not counted requests for 30 seconds; all requests are refused"
	} else if counting != nil {
		c.checks["limiter"] = "the database does not count requests; this node counts in memory"
	}
	return c
}

// after notes when the parts became unhealthy: now, unless they were so before.
func (c *condition) after(before *condition, now time.Time) *condition {
	var was map[string]time.Time
	if before != nil {
		was = before.since
	}
	c.since = make(map[string]time.Time)
	for part, found := range c.checks {
		if at, known := was[part]; known && found != healthy {
			c.since[part] = at
		} else if found != healthy {
			c.since[part] = now
		}
	}
	return c
}

// readiness returns the answer of /readyz, and whether requests should be sent to this node.
func (n *Node) readiness() (r Readiness, ready bool) {
	c := n.condition.Load()
	if c == nil {
		return Readiness{Status: "starting", Checks: map[string]string{}}, false
	}
	r.Checks, r.Since = c.checks, c.since
	switch {
	case c.failed:
		r.Status = "failed"
	case n.draining.Load():
		r.Status = "draining"
	case c.away:
		r.Status = "unavailable"
	case n.self().Drained:
		r.Status = "drained"
	case len(c.since) > 0:
		r.Status = "degraded"
		return r, true
	default:
		r.Status = "ready"
		return r, true
	}
	return r, false
}

// readyz answers 200 while requests should be sent here, else 503.
func (n *Node) readyz(w http.ResponseWriter, _ *http.Request) {
	r, ready := n.readiness()
	status := http.StatusServiceUnavailable
	if ready {
		status = http.StatusOK
	}
	writeJSON(w, status, r)
}

// livez answers 200 for as long as the process can answer at all. A supervisor should
// restart the process only when it does not.
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
