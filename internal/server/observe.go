package server

import (
	"context"
	"net/http"
	"time"

	"petcat"
	"petcat/internal/httpapi"
	"petcat/internal/logging"
	"petcat/internal/ratelimit"
	"petcat/internal/usage"
)

// observe counts one request of the API in the metrics and the usage history, and logs it.
func (n *Node) observe(r *httpapi.Record) {
	if r.API {
		n.metrics.Request(r.Operation, r.Status, r.Code, r.Admitted, r.Duration)
		n.countUsage(r)
	}
	if r.Deprecated {
		n.metrics.Deprecated(r.Operation, r.Account)
	}
	n.log.Access(&logging.Access{
		At: r.At, RequestID: r.RequestID, Method: r.Method, Path: r.Path, Operation: r.Operation, Deprecated: r.Deprecated,
		Status: r.Status, Code: r.Code, Account: r.Account, Key: r.Key,
		Address: r.Address, Duration: r.Duration, Bytes: r.Bytes,
	})
}

// usageTimeout is how long a node that stops tries to write its last counts. If the store
// is unavailable for that long, they are missing from the usage history, which then shows a
// gap.
const usageTimeout = 3 * time.Second

// startUsage starts to write what the node has counted since it opened its listeners. The
// first write is before any request is admitted: only a node that the usage history knows
// leaves a gap in it when it is killed.
func (n *Node) startUsage(ctx context.Context) error {
	n.usage.Open(n.backend)
	n.usage.Flush(ctx)
	n.every(n.usage.Wait, n.usage.Flush)
	n.onClose(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, usageTimeout)
		defer cancel()
		n.usage.Close(ctx)
		return nil
	})
	return nil
}

// countUsage counts the end of a request. That it was admitted is counted by then.
func (n *Node) countUsage(r *httpapi.Record) {
	n.usage.Done(usage.Response{At: r.At, Account: r.Account, Key: r.Key, Status: r.Status, Code: r.Code, Bytes: r.Bytes})
	if r.Account != 0 && (r.Status == http.StatusTooManyRequests || r.Status >= http.StatusInternalServerError) {
		n.usage.Refused(refusalOf(r))
	}
}

// refusalOf returns what operators see of a request that was refused or failed.
func refusalOf(r *httpapi.Record) petcat.Refusal {
	d := r.Decision
	refusal := petcat.Refusal{
		Account: r.Account, Key: r.Key, Operation: r.Operation, Code: r.Code, Last: r.At, RequestID: r.RequestID, Status: r.Status,
		Minute: petcat.Spent{Used: d.Minute.Limit - d.Minute.Remaining, Limit: d.Minute.Limit},
		Day:    petcat.Spent{Used: d.Day.Limit - d.Day.Remaining, Limit: d.Day.Limit},
	}
	if d.Verdict != ratelimit.Admitted {
		refusal.Until = time.Unix(d.Effective.Reset, 0).UTC()
	}
	return refusal
}

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
			return float64(c.current.Load().Leaf.NotAfter.Unix())
		})
	}
}

// registerMetrics adds the metrics whose values are read from the parts of the node.
func (n *Node) registerMetrics() {
	for name, read := range map[string]func() float64{
		"petcat_requests_in_flight":    func() float64 { return float64(n.handler.running.Load()) },
		"petcat_categories":            func() float64 { return float64(n.backend.list.Count()) },
		"petcat_store_queue":           func() float64 { return float64(n.backend.status().waiting) },
		"petcat_store_up":              func() float64 { return gauge(n.condition().problems["store"] == "") },
		"petcat_limiter_silent":        func() float64 { return gauge(n.limiter.Err() != nil) },
		"petcat_keyring_keys":          func() float64 { return float64(n.keyring.Keys()) },
		"petcat_keyring_trusted":       func() float64 { return gauge(n.keyring.Trusted()) },
		"petcat_usage_unsaved_seconds": func() float64 { return n.usage.Unsaved().Seconds() },
		"petcat_nodes":                 func() float64 { return float64(len(n.membership.current())) },
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
	n.metrics.Counter("petcat_backup_failures_total", func() float64 { return float64(n.backups.Failures.Load()) })
}

func gauge(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
