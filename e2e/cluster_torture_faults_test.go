package e2e

import (
	"math/rand/v2"
	"time"

	"petcat/internal/proxytest"
	"petcat/internal/redistest"
)

// lane is faults of one sort, one after the other.
type lane struct {
	name   string
	happen func(r *rand.Rand, until time.Time)
}

// themes returns which lanes go side by side in an act: many sorts of faults at once
// excuse much.
func (x *clusterTorture) themes() [][]lane {
	node := lane{"nodes", x.hurtNode}
	store := lane{"PostgreSQL", x.hurtPostgres}
	if x.incidents.database {
		return [][]lane{{node}, {node, node}, {store}, {store}, {store, node}, {store, node, node}}
	}
	redis := lane{"Redis", x.hurtRedis}
	network := lane{"one node's way to Redis", x.hurtNetwork}
	return [][]lane{
		{node},
		{node, node},
		{redis},
		{redis},
		{network},
		{network},
		{store},
		{redis, node},
		{network, node},
		{store, node},
		{redis, store},
		{network, store},
		{redis, network, node},
		{redis, network, store, node, node},
	}
}

// lostAtMost is for how long Redis or the way to it is away at most: longer than a minute,
// so that some minutes are without it from their beginning to their end.
const lostAtMost = 130 * time.Second

// during lets a fault begin, last and end.
func (x *clusterTorture) during(kind faultKind, n *tortureNode, lose func(), lasts time.Duration, heal func()) {
	f := x.incidents.begins(kind, n)
	lose()
	lapse(lasts)
	heal()
	x.incidents.ends(f)
}

// hurtRedis lets something happen to Redis.
func (x *clusterTorture) hurtRedis(r *rand.Rand, until time.Time) {
	switch r.IntN(6) {
	case 0, 1:
		x.during(redisKilled, nil, x.redis.Kill, lasts(r, until, lostAtMost), x.redis.Restart)
	case 2:
		x.during(redisHung, nil, x.redis.Hang, lasts(r, until, lostAtMost), x.redis.Resume)
	case 3, 4:
		for range 1 + r.IntN(4) {
			x.during(redisEmptied, nil, x.redis.Flush, 0, func() {})
			lapse(lasts(r, until, 10*time.Second))
		}
	default:
		x.promote(r, until)
	}
}

// promote lets a replica take over that did not hear of the last seconds.
func (x *clusterTorture) promote(r *rand.Rand, until time.Time) {
	replica := redistest.Start(x.t, "--repl-diskless-sync-delay", "0")
	x.redis.MustDo("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	way := proxytest.New(x.t, x.redis.Address())
	x.during(redisFollowed, nil, func() { replica.Follow(way.Address()) }, 0, func() {})
	lapse(lasts(r, until, 10*time.Second))
	way.Cut()
	lapse(lasts(r, until, 10*time.Second))
	primary := x.redis
	x.during(redisPromoted, nil, primary.Kill, 0, func() { replica.TakeOver(primary) })
	x.redis = replica
}

// hurtNetwork lets one node lose its way to Redis.
func (x *clusterTorture) hurtNetwork(r *rand.Rand, until time.Time) {
	n := x.behindProxy(r)
	if n == nil {
		return
	}
	switch r.IntN(4) {
	case 0, 1:
		x.during(redisCut, n, n.toRedis.Cut, lasts(r, until, lostAtMost), n.toRedis.Heal)
	case 2:
		x.during(redisCut, n, n.toRedis.Reset, lasts(r, until, lostAtMost), n.toRedis.Heal)
	default:
		slow := time.Duration(10+r.IntN(90)) * time.Millisecond
		x.during(redisSlow, n, func() { n.toRedis.Delay(slow) }, lasts(r, until, lostAtMost), n.toRedis.Heal)
	}
}

// behindProxy returns a node that a proxy can cut off, or nil.
func (x *clusterTorture) behindProxy(r *rand.Rand) *tortureNode {
	x.mu.Lock()
	defer x.mu.Unlock()
	var some []*tortureNode
	for _, n := range x.alive {
		if n.toRedis != nil {
			some = append(some, n)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[r.IntN(len(some))]
}

// storeAwayAtMost is for how long PostgreSQL or the way to it is away at most: longer than
// a node trusts keys without it.
const storeAwayAtMost = 40 * time.Second

// hurtPostgres lets something happen to PostgreSQL, or to one node's way to it.
func (x *clusterTorture) hurtPostgres(r *rand.Rand, until time.Time) {
	pg, long := x.postgres, lasts(r, until, storeAwayAtMost)
	start := func() { must(x.t, pg.Start(x.t.Context())) }
	switch r.IntN(6) {
	case 0, 1, 2:
		if n := x.behindProxy(r); n != nil {
			cut := []func(){n.toPostgres.Cut, n.toPostgres.Reset}[r.IntN(2)]
			x.during(postgresCut, n, cut, long, n.toPostgres.Heal)
		}
		return
	}
	x.away.Lock()
	defer x.away.Unlock()
	switch r.IntN(3) {
	case 0:
		x.during(postgresStopped, nil, pg.Stop, long, start)
	case 1:
		x.during(postgresKilled, nil, pg.Kill, long, start)
	default:
		x.during(postgresHung, nil, pg.Suspend, long, pg.Resume)
	}
}
