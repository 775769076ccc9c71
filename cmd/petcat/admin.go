package main

import (
	"net/http"

	"petcat/api"
	"petcat/internal/reference"
)

// adminHandler serves operators: what only this machine sees by default.
func adminHandler(n *node) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", n.metrics.Handler())
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", n.readyz)
	return mux
}

// documents are what the API's listener serves without a key.
func documents(publicURL string) map[string]http.Handler {
	page := reference.Handler()
	return map[string]http.Handler{
		"/openapi.json": document("application/json", api.JSON(publicURL)),
		"/openapi.yaml": document("application/yaml", api.YAML(publicURL)),
		"/docs":         page,
		"/docs/":        page,
		"/livez":        http.HandlerFunc(livez),
	}
}

// watch adds to the metrics what is not counted but looked up.
func (n *node) watch() {
	m := n.metrics
	m.Gauge("petcat_categories", "Categories in the list.", func() float64 { return float64(n.catalogCount()) })
	m.Gauge("petcat_store_queue", "Writes that wait for a commit.", func() float64 { return float64(n.store.Stats().Waiting) })
	m.Gauge("petcat_store_wal_bytes", "Size of the write-ahead log.", func() float64 { return float64(n.store.Stats().WALBytes) })
	m.Gauge("petcat_store_up", "1 while the store can be written.", func() float64 {
		select {
		case <-n.store.Failed():
			return 0
		default:
			return 1
		}
	})
	m.Gauge("petcat_limiter_accounts", "Accounts whose counts are in memory.", func() float64 { return float64(n.limiter.Stats().Accounts) })
	m.Gauge("petcat_limiter_degraded", "1 while day counts cannot be saved and are kept in memory alone.", func() float64 {
		return gauge(n.limiter.Stats().Degraded)
	})
	m.Gauge("petcat_limiter_clock_ahead_seconds", "How far the limits' clock is ahead of the wall clock, which was set back.", func() float64 {
		return n.clock.Ahead().Seconds()
	})
	m.Gauge("petcat_keyring_keys", "Keys in memory.", func() float64 { return float64(n.keyring.Stats().Known) })
	m.Gauge("petcat_keyring_trusted", "1 while the keys in memory are believed, because the change log is heard.", func() float64 {
		return gauge(n.keyring.Stats().Trusted)
	})
	m.Counter("petcat_keyring_lookups_total", "Keys looked up in the store.", func() float64 { return float64(n.keyring.Stats().Lookups) })
	m.Counter("petcat_log_writes_lost_total", "Writes of the log that failed, and lines that were dropped because a write hung.", func() float64 { return float64(n.log.Lost()) })
}

func gauge(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
