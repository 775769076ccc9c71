package server

// registerEarlyMetrics adds the metrics that have values while the node is starting.
func (n *Node) registerEarlyMetrics() {
	n.metrics.Gauge("petcat_ready", func() float64 {
		_, ready := n.readiness()
		return gauge(ready)
	})
	n.metrics.Gauge("petcat_connections", func() float64 { return float64(n.listeners.apiConns.open()) })
	n.metrics.Gauge("petcat_connections_max", func() float64 {
		return float64(cap(n.listeners.apiConns.slots))
	})
	if c := n.listeners.certificate; c != nil {
		n.metrics.Gauge("petcat_tls_certificate_expiry_timestamp_seconds", func() float64 {
			return float64(c.expires().Unix())
		})
	}
}

// registerMetrics adds the metrics whose values are read from the parts of the node.
func (n *Node) registerMetrics() {
	m := n.metrics
	m.Gauge("petcat_requests_in_flight", func() float64 { return float64(n.handler.running.Load()) })
	m.Gauge("petcat_categories", func() float64 { return float64(n.backend.list().Count()) })
	m.Gauge("petcat_store_queue", func() float64 { return float64(n.backend.status().waiting) })
	m.Counter("petcat_store_shed_total", func() float64 { return float64(n.backend.status().shed) })
	m.Gauge("petcat_store_up", func() float64 { return gauge(n.condition().store == "") })
	m.Gauge("petcat_limiter_silent", func() float64 {
		return gauge(n.limiter.Err() != nil)
	})
	m.Counter("petcat_limiter_local_total", func() float64 { return float64(n.limiter.Local.Load()) })
	m.Counter("petcat_limiter_overloaded_total", func() float64 { return float64(n.limiter.Overloaded.Load()) })
	m.Gauge("petcat_nodes", func() float64 {
		nodes, _ := n.membership.current()
		return float64(len(nodes))
	})
	m.Gauge("petcat_keyring_keys", func() float64 { return float64(n.keyring.Keys()) })
	m.Gauge("petcat_keyring_trusted", func() float64 {
		return gauge(n.condition().keyring == "")
	})
	m.Counter("petcat_audit_faults_total", func() float64 { return float64(n.audit.faults.Load()) })
	m.Gauge("petcat_usage_unsaved_seconds", func() float64 { return n.usage.Unsaved().Seconds() })
	m.Counter("petcat_log_writes_lost_total", func() float64 { return float64(n.log.Lost()) })
	n.backend.registerMetrics(m)
	n.registerBackupMetrics()
}

func gauge(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
