package e2e

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// faultKind is what can happen to a cluster.
type faultKind uint8

const (
	redisKilled faultKind = iota
	redisHung
	redisEmptied
	redisFollowed // by its first replica
	redisPromoted // a replica took over that had not heard of everything
	redisCut      // off one node
	redisSlow     // for one node
	postgresStopped
	postgresKilled
	postgresHung
	postgresCut // off one node
	nodeKilled
	nodeFrozen
	nodeStarted
	nodeStopped
	faultKinds
)

func (k faultKind) String() string {
	return [...]string{
		"Redis killed", "Redis hung", "Redis emptied", "Redis gets a replica", "replica promoted", "Redis cut off", "Redis slow",
		"PostgreSQL stopped", "PostgreSQL killed", "PostgreSQL hung", "PostgreSQL cut off",
		"node killed", "node frozen", "node started", "node stopped",
	}[k]
}

// epoch reports whether counts are lost with it, for those that count in this place.
func (k faultKind) epoch(database bool) bool {
	if database {
		return k == postgresKilled
	}
	return k == redisKilled || k == redisEmptied || k == redisFollowed || k == redisPromoted
}

// store reports whether nodes have no PostgreSQL meanwhile.
func (k faultKind) store() bool { return k >= postgresStopped && k <= postgresCut }

// counters reports whether nodes have no counters meanwhile.
func (k faultKind) counters(database bool) bool {
	if database {
		return k.store()
	}
	return k <= redisSlow
}

// fault is something that happened.
type fault struct {
	kind     faultKind
	node     *tortureNode // nil: to all
	from, to time.Time
}

// overlaps reports whether some of it was between two moments.
func (f fault) overlaps(from, to time.Time) bool { return !f.from.After(to) && !f.to.Before(from) }

// hits reports whether it happened to a node.
func (f fault) hits(n *tortureNode) bool { return f.node == nil || f.node == n }

func (f fault) String() string {
	who, to := "", "…"
	if f.node != nil {
		who = " (" + f.node.String() + ")"
	}
	if f.to.Before(endless) {
		to = clockTime(f.to)
	}
	return fmt.Sprintf("%s to %s %s%s", clockTime(f.from), to, f.kind, who)
}

// endless is the end of a fault that lasts.
var endless = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// incidents is what happened to a cluster, by the test's own knowledge: it made it happen.
type incidents struct {
	database bool // the counters are in PostgreSQL

	mu  sync.Mutex
	all []*fault // guarded by mu
}

func (i *incidents) begins(kind faultKind, n *tortureNode) *fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	f := &fault{kind: kind, node: n, from: time.Now(), to: endless}
	i.all = append(i.all, f)
	return f
}

func (i *incidents) ends(f *fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f.to = time.Now()
}

// between returns what happened between two moments, in the order of the beginnings.
func (i *incidents) between(from, to time.Time) (some []fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, f := range i.all {
		if f.overlaps(from, to) {
			some = append(some, *f)
		}
	}
	return some
}

// frozen returns when a node that was frozen at a moment stood up again, or the moment.
func (i *incidents) frozen(n *tortureNode, at time.Time) time.Time {
	for _, f := range i.between(at, at) {
		if f.kind == nodeFrozen && f.node == n {
			return f.to
		}
	}
	return at
}

// silent reports whether a node may have left a request without an answer.
func (i *incidents) silent(n *tortureNode, sent, received time.Time) bool {
	return slices.ContainsFunc(i.between(i.begin(), received), func(f fault) bool {
		return f.node == n && (f.kind == nodeKilled || f.kind == nodeFrozen && !f.to.Before(sent.Add(-answerTimeout)))
	})
}

func (i *incidents) begin() time.Time { return time.Unix(0, 0) }

const (
	// trust is for how long a node answers without PostgreSQL; a moment less, because it
	// may have heard of it some time before.
	trust = 29 * time.Second
	// healed is how soon it answers when PostgreSQL is back.
	healed = 5 * time.Second
)

// unavailable reports whether a node may answer a request with 503: it has no PostgreSQL,
// and does not know the caller, or has heard nothing for so long that it trusts no key.
// Known says that it has lately answered the caller.
func (i *incidents) unavailable(n *tortureNode, known bool, sent, received time.Time) bool {
	away := false
	var deaf fault
	for _, f := range i.between(sent.Add(-5*time.Minute), received) {
		if !f.hits(n) || !f.kind.store() && f.kind != nodeFrozen {
			continue
		}
		if deaf.to.Add(healed).Before(f.from) {
			deaf.from = f.from
		}
		if f.to.After(deaf.to) {
			deaf.to = f.to
		}
		away = away || f.kind.store() && f.overlaps(sent.Add(-healed), received)
	}
	return away && (!known || received.Sub(deaf.from) >= trust)
}
