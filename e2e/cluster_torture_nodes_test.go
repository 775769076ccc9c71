package e2e

import (
	"math/rand/v2"
	"slices"
	"time"

	"petcat/internal/proxytest"
)

// A cluster under torture has from so many nodes to so many.
const fewestNodes, mostNodes = 2, 6

// logAtMost is what is kept of a node's log: it has a line for each request.
const logAtMost = 4 << 20

// tortureNode is a node of a cluster under torture. Each second one reaches Redis and
// PostgreSQL through proxies, which can cut it off.
type tortureNode struct {
	*server
	number     int
	toRedis    *proxytest.Proxy // nil: none
	toPostgres *proxytest.Proxy // nil: none

	ended time.Time // zero: it runs; guarded by clusterTorture.mu
	taken bool      // something happens to it; guarded by clusterTorture.mu
}

// startNode starts a node and gives it its part of the load.
func (x *clusterTorture) startNode() {
	x.away.Lock()
	defer x.away.Unlock()
	x.mu.Lock()
	n := &tortureNode{number: len(x.ever)}
	x.ever = append(x.ever, n)
	x.mu.Unlock()
	limiter := x.redis.URL()
	if n.number%2 == 1 {
		n.toRedis, n.toPostgres = proxytest.New(x.t, x.redis.Address()), proxytest.New(x.t, x.postgres.Address())
		limiter = "redis://" + n.toRedis.Address()
	}
	if x.incidents.database {
		limiter = "database"
	}
	// The connections of clients that gave up on a frozen node are nobody's attack.
	s := x.launchOn(x.postgresURL(n), "--limiter", limiter, "--trusted-proxies", "127.0.0.1/32")
	x.mu.Lock()
	n.server = s
	x.mu.Unlock()
	f := x.incidents.begins(nodeStarted, n)
	n.awaitReady()
	n.log.atMost(logAtMost)
	x.incidents.ends(f)
	x.mu.Lock()
	x.alive = append(x.alive, n)
	x.mu.Unlock()
	x.route(n)
}

// route sends requests to a node, and unroute no longer.
func (x *clusterTorture) route(n *tortureNode) {
	x.mu.Lock()
	defer x.mu.Unlock()
	routed := append(slices.Clone(x.routes()), n)
	x.routed.Store(&routed)
}

func (x *clusterTorture) unroute(n *tortureNode) {
	x.mu.Lock()
	defer x.mu.Unlock()
	routed := slices.DeleteFunc(slices.Clone(x.routes()), func(other *tortureNode) bool { return other == n })
	x.routed.Store(&routed)
}

// routes returns the nodes that get requests.
func (x *clusterTorture) routes() []*tortureNode {
	if routed := x.routed.Load(); routed != nil {
		return *routed
	}
	return nil
}

// take returns a node that is to suffer something, or nil when too few are well.
func (x *clusterTorture) take(r *rand.Rand) *tortureNode {
	x.mu.Lock()
	defer x.mu.Unlock()
	var well []*tortureNode
	for _, n := range x.alive {
		if !n.taken {
			well = append(well, n)
		}
	}
	if len(well) <= fewestNodes {
		return nil
	}
	n := well[r.IntN(len(well))]
	n.taken = true
	return n
}

func (x *clusterTorture) giveBack(n *tortureNode) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n.taken = false
}

// gone takes note that a node's process has ended.
func (x *clusterTorture) gone(n *tortureNode) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n.ended = time.Now()
	x.alive = slices.DeleteFunc(x.alive, func(other *tortureNode) bool { return other == n })
}

// node returns the node of a number.
func (x *clusterTorture) node(number int32) *tortureNode {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ever[number]
}

// nodesIn returns the nodes that were there in some of the minute that begins at a moment.
func (x *clusterTorture) nodesIn(begin time.Time) (some []*tortureNode) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, n := range x.ever {
		if n.server != nil && n.begun.Before(begin.Add(time.Minute)) && (n.ended.IsZero() || n.ended.After(begin)) {
			some = append(some, n)
		}
	}
	return some
}

// many reports how many nodes there are.
func (x *clusterTorture) many() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.alive)
}

// noticed is when whoever spreads the load stops or begins to use a node.
func noticed(r *rand.Rand) time.Duration {
	return time.Duration(200+r.IntN(800)) * time.Millisecond
}

// killNode kills a node, and starts another in its place.
func (x *clusterTorture) killNode(r *rand.Rand, until time.Time) {
	n := x.take(r)
	if n == nil {
		return
	}
	f := x.incidents.begins(nodeKilled, n)
	n.kill()
	x.gone(n)
	x.incidents.ends(f)
	lapse(noticed(r))
	x.unroute(n)
	lapse(lasts(r, until, 20*time.Second))
	x.startNode()
}

// freezeNode lets a node stand still for a while.
func (x *clusterTorture) freezeNode(r *rand.Rand, until time.Time) {
	n := x.take(r)
	if n == nil {
		return
	}
	defer x.giveBack(n)
	f := x.incidents.begins(nodeFrozen, n)
	n.signal(sigStop)
	frozen := lasts(r, until, 40*time.Second)
	if notice := noticed(r); frozen > notice {
		lapse(notice)
		x.unroute(n)
		defer x.route(n)
		frozen -= notice
	}
	lapse(frozen)
	n.signal(sigContinue)
	x.incidents.ends(f)
	lapse(noticed(r))
}

// stopNode stops a node in order, after it gets no more requests.
func (x *clusterTorture) stopNode(r *rand.Rand, _ time.Time) {
	n := x.take(r)
	if n == nil {
		return
	}
	x.unroute(n)
	lapse(noticed(r))
	x.away.Lock()
	defer x.away.Unlock()
	f := x.incidents.begins(nodeStopped, n)
	code := n.stop()
	// Without PostgreSQL it ends as well, and says that it could not save all.
	lost := slices.ContainsFunc(x.incidents.between(f.from.Add(-healed), time.Now()), func(f fault) bool { return f.kind.store() && f.hits(n) })
	if code != exitDone && !lost {
		x.t.Errorf("%s, %s ended with %d: %s", clockTime(time.Now()), n, code, last(n.log.events(), 2000))
	}
	x.gone(n)
	x.incidents.ends(f)
}

// addNode adds a node if there is room.
func (x *clusterTorture) addNode(_ *rand.Rand, _ time.Time) {
	if x.many() < mostNodes {
		x.startNode()
	}
}

// hurtNode lets something happen to one node, with the counters and PostgreSQL well.
func (x *clusterTorture) hurtNode(r *rand.Rand, until time.Time) {
	some := []func(*rand.Rand, time.Time){x.killNode, x.killNode, x.freezeNode, x.freezeNode, x.stopNode, x.addNode}
	some[r.IntN(len(some))](r, until)
}

// lasts returns how long a fault lasts: often short, sometimes as long as it may.
func lasts(r *rand.Rand, until time.Time, most time.Duration) time.Duration {
	upTo := []time.Duration{2 * time.Second, most / 4, most}[r.IntN(3)]
	return max(50*time.Millisecond, min(time.Duration(r.Int64N(int64(upTo))), time.Until(until)))
}
