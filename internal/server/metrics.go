package server

// registerEarlyMetrics adds the metrics that have values while the node is starting.
func (n *Node) registerEarlyMetrics() {
	n.metrics.Gauge("petcat_ready", "1 while requests should be sent here: what /readyz answers.", func() float64 {
		_, ready := n.readiness()
		return gauge(ready)
	})
	n.metrics.Gauge("petcat_connections", "Open connections of the API.", func() float64 { return float64(n.listeners.apiConns.open()) })
	n.metrics.Gauge("petcat_connections_max", "How many connections of the API may be open; beyond them, new ones wait.", func() float64 {
		return float64(cap(n.listeners.apiConns.slots))
	})
	if c := n.listeners.certificate; c != nil {
		n.metrics.Gauge("petcat_tls_certificate_expiry_timestamp_seconds", "When the certificate that is served expires, in Unix time.", func() float64 {
			return float64(c.expires().Unix())
		})
	}
}

// registerMetrics adds the metrics whose values are read from the parts of the node.
func (n *Node) registerMetrics() {
	m := n.metrics
	m.Gauge("petcat_categories", "Categories in the list.", func() float64 { return float64(n.backend.list().Count()) })
	m.Gauge("petcat_store_queue", "Queued writes.", func() float64 { return float64(n.backend.status().waiting) })
	m.Counter("petcat_store_shed_total", "Writes refused because too many were queued, in total or for their account.", func() float64 { return float64(n.backend.status().shed) })
	m.Gauge("petcat_store_up", "1 while the store can be read and written; the same as in /readyz.", func() float64 { return gauge(n.condition().store == "") })
	m.Gauge("petcat_limiter_silent", "1 while the database does not count requests and this node counts in memory; the same as in /readyz.", func() float64 {
		return gauge(n.limiter.Err() != nil)
	})
	m.Counter("petcat_limiter_local_total", "Requests that this node decided from memory because the database did not count them.", func() float64 { return float64(n.limiter.Local.Load()) })
	m.Counter("petcat_limiter_overloaded_total", "Requests answered with 503 because the database could not count them in time.", func() float64 { return float64(n.limiter.Overloaded.Load()) })
	m.Gauge("petcat_nodes", "Nodes that serve, this one included.", func() float64 {
		nodes, _ := n.membership.current()
		return float64(len(nodes))
	})
	m.Gauge("petcat_keyring_keys", "Keys in memory.", func() float64 { return float64(n.keyring.Stats().Known) })
	m.Gauge("petcat_keyring_trusted", "1 while the keys in memory are trusted, because the change log is up to date.", func() float64 {
		return gauge(n.condition().keyring == "")
	})
	m.Counter("petcat_keyring_lookups_total", "Keys looked up in the store.", func() float64 { return float64(n.keyring.Stats().Lookups) })
	m.Counter("petcat_audit_faults_total", "Altered, missing or reordered audit entries that this node found.", func() float64 { return float64(n.audit.faults.Load()) })
	m.Gauge("petcat_usage_unsaved_seconds", "For how long not everything that was counted has been written to the usage history.", func() float64 { return n.usage.Unsaved().Seconds() })
	m.Counter("petcat_log_writes_lost_total", "Log writes that failed, and log lines dropped because a write hung.", func() float64 { return float64(n.log.Lost()) })
	n.backend.registerMetrics(m)
	n.registerBackupMetrics()
}

func gauge(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
