package main

import (
	"math"

	"petcat/internal/catalog"
	"petcat/internal/clusterlimit"
	"petcat/internal/datadir"
	"petcat/internal/metrics"
	"petcat/internal/postgres"
	"petcat/internal/ratelimit"
)

// watch adds to the metrics what is not counted but looked up.
func (n *node) watch() {
	m := n.metrics
	m.Gauge("petcat_categories", "Categories in the list.", func() float64 { return float64(n.store.list.Count()) })
	m.Gauge("petcat_store_queue", "Writes that wait for a commit.", func() float64 { return float64(n.store.waiting()) })
	m.Counter("petcat_store_shed_total", "Writes that were refused because too many waited.", func() float64 { return float64(n.store.shed()) })
	m.Gauge("petcat_store_up", "1 while the store answers and can be written: what /readyz says of it.", func() float64 { return gauge(n.condition().store == "") })
	m.Gauge("petcat_limiter_degraded", "1 while limits are not what they should be, because day counts cannot be saved or the limiter's server is away: what /readyz says of it.", func() float64 {
		return gauge(n.condition().limiter != "")
	})
	m.Gauge("petcat_nodes", "Nodes that serve, this one included.", func() float64 { return float64(n.nodes.count()) })
	m.Gauge("petcat_limiter_clock_ahead_seconds", "How far the limits' clock is ahead of the wall clock, which was set back.", func() float64 {
		return n.clock.Ahead().Seconds()
	})
	m.Gauge("petcat_keyring_keys", "Keys in memory.", func() float64 { return float64(n.keyring.Stats().Known) })
	m.Gauge("petcat_keyring_trusted", "1 while the keys in memory are believed, because the change log is heard.", func() float64 {
		return gauge(n.condition().keyring == "")
	})
	m.Counter("petcat_keyring_lookups_total", "Keys looked up in the store.", func() float64 { return float64(n.keyring.Stats().Lookups) })
	m.Counter("petcat_log_writes_lost_total", "Writes of the log that failed, and lines that were dropped because a write hung.", func() float64 { return float64(n.log.Lost()) })
	n.store.watch(m)
	n.limiter.watch(m)
}

// watchMemory adds what a limiter in memory tells.
func watchMemory(m *metrics.Metrics, stats func() ratelimit.Stats) {
	m.Gauge("petcat_limiter_accounts", "Accounts whose counts are in memory.", func() float64 { return float64(stats().Accounts) })
}

// watchShared adds what a limiter that several nodes share tells.
func watchShared(m *metrics.Metrics, l *clusterlimit.Limiter) {
	watchMemory(m, func() ratelimit.Stats {
		return l.Stats().Memory
	})
	m.Counter("petcat_limiter_shared_total", "Requests that the shared counters decided.", func() float64 { return float64(l.Stats().Shared) })
	m.Counter("petcat_limiter_local_total", "Requests that this node decided within its share, while the shared counters were away.", func() float64 { return float64(l.Stats().Local) })
	m.Counter("petcat_limiter_failures_total", "Calls that the shared counters did not answer in time.", func() float64 { return float64(l.Stats().Failures) })
}

// watchPostgres adds what a database that several nodes share tells.
func watchPostgres(m *metrics.Metrics, st *postgres.Store, list *catalog.Fresh) {
	m.Gauge("petcat_store_connections", "Connections to the database.", func() float64 { return float64(st.Stats().Connections) })
	m.Gauge("petcat_store_connections_in_use", "Connections to the database that are in use.", func() float64 { return float64(st.Stats().InUse) })
	m.Gauge("petcat_list_age_seconds", "How long ago the list was last known to show everything.", func() float64 { return list.Stats().Age.Seconds() })
	m.Counter("petcat_list_questions_total", "Questions to the database for what was created.", func() float64 { return float64(list.Stats().Questions) })
	m.Counter("petcat_list_stale_total", "Lists that were answered from what was last known, while the database was away.", func() float64 { return float64(list.Stats().Stale) })
}

// freeBytes returns how much room there is for the data, NaN when nobody knows.
func freeBytes(dir *datadir.Dir) float64 {
	free, err := dir.FreeBytes()
	if err != nil {
		return math.NaN()
	}
	return float64(free)
}

func gauge(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
