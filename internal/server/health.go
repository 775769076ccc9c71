package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/console"
	"github.com/petcat-api/petcat/internal/keyring"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/store"
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
	failed bool // the store is read-only until the program is restarted
	away   bool // every request is rejected, because the database has not responded for 30 s
}

const healthy = "ok"

// state is the state that a running node reports to /readyz, the metrics, the console and the other
// nodes.
type state struct {
	own       petcat.Node                   // this node, if the nodes do not contain it
	draining  atomic.Bool                   // it stops
	condition atomic.Pointer[condition]     // from the last check; nil while the node is starting
	nodes     atomic.Pointer[[]petcat.Node] // the running nodes, from the last heartbeat
}

// newState returns the state of a node that is starting.
func (b base) newState() *state {
	s := &state{own: petcat.Node{ID: b.id, Label: b.Settings.Label()}}
	// Without a label: the first heartbeat returns it.
	s.nodes.Store(&[]petcat.Node{{ID: b.id, Version: b.Version}})
	b.metrics.Read("petcat_ready", func() float64 {
		_, ready := s.readiness()
		return gauge(ready)
	})
	return s
}

// self returns this node's record in the database.
func (s *state) self() petcat.Node {
	for _, node := range *s.nodes.Load() {
		if node.ID == s.own.ID {
			return node
		}
	}
	return s.own
}

// checks are the health checks of a node's parts.
type checks struct {
	clock   clock.Clock
	db      store.Database
	keyring *keyring.Keyring
	limiter *ratelimit.Limiter
	state   *state
	log     *slog.Logger
}

// checkHealth starts the health checks.
func (b base) checkHealth(ctx context.Context, c *checks) {
	c.check(ctx)
	b.lifetime.every(checkInterval, c.check)
	b.metrics.Read("petcat_store_up", func() float64 {
		r, _ := c.state.readiness()
		return gauge(r.Checks["store"] == healthy)
	})
}

// check updates the node's condition.
func (c *checks) check(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := c.db.Check(limited)
	if ctx.Err() == nil {
		before := c.state.condition.Load()
		now := c.examine(err).after(before, c.clock.Read().Time())
		c.state.condition.Store(now)
		c.report(before, now)
	}
}

// report logs a problem of the store when it begins or changes, and its end. The limiter and the keyring
// log their own.
func (c *checks) report(before, now *condition) {
	last, problem := "", now.parts[0].Problem
	if before != nil {
		last = before.parts[0].Problem
	}
	switch problem {
	case last:
	case "":
		c.log.Info("the store is healthy again")
	default:
		c.log.Error("the store has a problem", "problem", problem)
	}
}

// examine returns the current condition. stored is the result of a check of the store.
func (c *checks) examine(stored error) *condition {
	now := &condition{parts: []console.Part{
		{Name: "store"},
		{Name: "limiter"},
		{Name: "keyring"},
	}}
	store, limiter, keyring := &now.parts[0], &now.parts[1], &now.parts[2]
	switch e, ok := errors.AsType[*petcat.UnusableError](stored); {
	case c.db.Err() != nil:
		store.Problem = "nothing can be written; check the disk, then restart petcat to recover"
		now.failed = true
	case ok:
		store.Problem = e.Message
	case stored != nil:
		store.Problem = "the database does not respond"
	}
	if !c.keyring.Trusted() {
		keyring.Problem = "access changes could not be read for 30 seconds; no key is trusted"
		now.away = true
	}
	counting := c.limiter.Err()
	now.away = now.away || errors.Is(counting, ratelimit.ErrDown)
	if counting != nil && now.away {
		limiter.Problem = "the database has not counted requests for 30 seconds; all requests are rejected"
	} else if counting != nil {
		limiter.Problem = "the database does not count requests; this node counts in memory"
	}
	return now
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
func (s *state) readiness() (r Readiness, ready bool) {
	r = Readiness{
		Status: "starting",
		Checks: map[string]string{},
		Since:  map[string]time.Time{},
	}
	c := s.condition.Load()
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
	case s.draining.Load():
		r.Status = "draining"
	case c.away:
		r.Status = "unavailable"
	case s.self().Drained:
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

// status returns the status of /readyz.
func (s *state) status() string {
	r, _ := s.readiness()
	return r.Status
}

// readyz responds with 200 while the node is ready for requests, else with 503.
func (s *state) readyz(w http.ResponseWriter, _ *http.Request) {
	r, ready := s.readiness()
	status := http.StatusServiceUnavailable
	if ready {
		status = http.StatusOK
	}
	writeJSON(w, status, r)
}

// livez always responds with 200. A supervisor should restart the process only if it does not get a
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
