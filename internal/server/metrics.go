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
			return float64(c.get().Leaf.NotAfter.Unix())
		})
	}
}

// registerMetrics adds the metrics whose values are read from the parts of the node.
func (n *Node) registerMetrics() {
	for name, read := range map[string]func() float64{
		"petcat_requests_in_flight":    func() float64 { return float64(n.handler.running.Load()) },
		"petcat_categories":            func() float64 { return float64(n.backend.list.Count()) },
		"petcat_store_queue":           func() float64 { return float64(n.backend.status().waiting) },
		"petcat_store_up":              func() float64 { return gauge(n.condition().store == "") },
		"petcat_limiter_silent":        func() float64 { return gauge(n.limiter.Err() != nil) },
		"petcat_keyring_keys":          func() float64 { return float64(n.keyring.Keys()) },
		"petcat_keyring_trusted":       func() float64 { return gauge(n.condition().keyring == "") },
		"petcat_usage_unsaved_seconds": func() float64 { return n.usage.Unsaved().Seconds() },
		"petcat_nodes": func() float64 {
			nodes, _ := n.membership.current()
			return float64(len(nodes))
		},
	} {
		n.metrics.Gauge(name, read)
	}
	for name, read := range map[string]func() float64{
		"petcat_store_shed_total":         func() float64 { return float64(n.backend.status().shed) },
		"petcat_limiter_local_total":      func() float64 { return float64(n.limiter.Local.Load()) },
		"petcat_limiter_overloaded_total": func() float64 { return float64(n.limiter.Overloaded.Load()) },
		"petcat_audit_faults_total":       func() float64 { return float64(n.audit.faults.Load()) },
		"petcat_log_writes_lost_total":    func() float64 { return float64(n.log.Lost()) },
	} {
		n.metrics.Counter(name, read)
	}
	if n.backups == nil {
		return
	}
	last := n.backups.Last
	n.metrics.Gauge("petcat_backup_interval_seconds", n.settings.BackupEvery.Seconds)
	n.metrics.Gauge("petcat_backup_last_success_timestamp_seconds", func() float64 {
		if at := last().TakenAt; !at.IsZero() {
			return float64(at.Unix())
		}
		return 0
	})
	n.metrics.Gauge("petcat_backup_duration_seconds", func() float64 { return last().Seconds })
	n.metrics.Gauge("petcat_backup_size_bytes", func() float64 { return float64(last().Size) })
	n.metrics.Counter("petcat_backup_failures_total", func() float64 { return float64(n.backups.Failures()) })
}

func gauge(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
