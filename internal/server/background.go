package server

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/backup"
	"github.com/petcat-api/petcat/internal/store"
)

// The background jobs of a node, besides its health checks.

// beatInterval is the interval between a node's heartbeats, and between its reads of the log
// level that an operator set.
const beatInterval = 2 * time.Second

// heartbeats keep this node among the running nodes of the database.
type heartbeats struct {
	base

	store   petcat.NodeStore
	sockets *sockets
	state   *state
}

// joinNodes registers this node in the database, and sends heartbeats until it closes.
func (b base) joinNodes(ctx context.Context, nodes petcat.NodeStore, so *sockets, st *state) {
	h := &heartbeats{
		base:    b,
		store:   nodes,
		sockets: so,
		state:   st,
	}
	h.beat(ctx)
	b.lifetime.every(beatInterval, h.beat)
	// If RemoveNode fails, the other nodes notice that the heartbeats stopped.
	b.lifetime.onClose(func(ctx context.Context) error {
		_ = nodes.RemoveNode(ctx, b.id)
		return nil
	})
	b.metrics.Read("petcat_nodes", func() float64 { return float64(len(*st.nodes.Load())) })
}

// beat writes the node's state to the database. It reads the running nodes, this node's label, and
// whether this node is drained. While the database is unavailable, the last values apply.
func (h *heartbeats) beat(ctx context.Context) {
	was := h.state.self()
	r, _ := h.state.readiness()
	host, _ := os.Hostname() // "" if it is unknown
	nodes, err := h.store.Heartbeat(ctx, petcat.Node{
		ID:         h.id,
		Label:      h.Settings.Label(),
		Version:    h.Version,
		Host:       host,
		AdminURL:   h.sockets.adminURL(),
		ConsoleURL: h.sockets.consoleURL(),
		PublicURL:  h.sockets.publicURL(),
		State:      r.Status,
		Drained:    was.Drained,
	})
	if err != nil {
		return // the keyring logs that the database is unavailable
	}
	h.state.nodes.Store(&nodes)
	now := h.state.self()
	if now.Label != was.Label {
		h.Log.SetNode(now.Label)
		h.metrics.SetNode(now.Label)
	}
	if now.Drained != was.Drained {
		h.Log.InfoContext(ctx, "drain state changed", "drained", now.Drained)
	}
}

// scheduleBackups starts the scheduled backups, if enabled.
func (b base) scheduleBackups(d *data) error {
	if b.Settings.BackupEvery == 0 {
		return nil
	}
	folder, err := prepareBackups(b.Settings)
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // "" if it is unknown
	s := &backup.Schedule{
		Database:    d.db,
		Shared:      d.store,
		Environment: d.store.Environment(),
		Dataset:     d.store.Dataset(),
		Folder:      folder,
		Every:       b.Settings.BackupEvery,
		Keep:        b.Settings.BackupKeep,
		Command:     b.Settings.BackupCommand,
		Host:        host,
		Version:     b.Version,
		Clock:       b.Clock,
		Logger:      b.Log.Logger,
		Failed:      func(ctx context.Context) { b.backupFailed(ctx, d.store, host) },
	}
	b.lifetime.repeat(s.UntilCheck, s.Check)
	b.metrics.Read("petcat_backup_interval_seconds", s.Every.Seconds)
	b.metrics.Read("petcat_backup_last_success_timestamp_seconds", func() float64 {
		return float64(max(0, s.Last().TakenAt.Unix())) // negative if there is none
	})
	b.metrics.Read("petcat_backup_duration_seconds", func() float64 { return s.Last().Seconds })
	b.metrics.Read("petcat_backup_size_bytes", func() float64 { return float64(s.Last().Size) })
	b.metrics.Read("petcat_backup_failures_total", func() float64 { return float64(s.Failures.Load()) })
	b.metrics.Read("petcat_backup_damaged_total", func() float64 { return float64(s.Damaged.Load()) })
	return nil
}

const (
	// auditInterval is the interval at which a node logs the audit log's head.
	auditInterval = 24 * time.Hour
	// cleanInterval is the interval at which a node deletes expired rows.
	cleanInterval = time.Minute
)

// levels is the log level that an operator set, of a store.
type levels interface {
	LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error)
}

// maintain starts the jobs that apply the log level, log the audit log's head, and delete expired rows.
func (b base) maintain(ctx context.Context, s *store.Store) {
	b.lifetime.every(beatInterval, func(ctx context.Context) { b.followLogLevel(ctx, s) })
	b.logAuditHead(ctx, s)
	b.lifetime.every(auditInterval, func(ctx context.Context) { b.logAuditHead(ctx, s) })
	b.retry(cleanInterval, "delete expired rows", s.Clean)
	b.metrics.Read("petcat_log_writes_lost_total", func() float64 { return float64(b.Log.Lost()) })
}

// retry calls fn at an interval until the node closes. It logs the first failure and the next success, so
// that an outage is two lines.
func (b base) retry(interval time.Duration, task string, fn func(context.Context) error) {
	failing := false
	b.lifetime.every(interval, func(ctx context.Context) {
		err := fn(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && !failing:
			b.Log.WarnContext(ctx, "background task failed; retrying", "task", task, "error", err)
		case err == nil && failing:
			b.Log.InfoContext(ctx, "background task succeeded again", "task", task)
		}
		failing = err != nil
	})
}

// logAuditHead logs the audit log's head at every log level, because an attacker with access
// only to the database cannot change it there. petcat audit verify --head checks it.
func (b base) logAuditHead(ctx context.Context, s petcat.AuditStore) {
	err := s.EachAuditEntry(ctx, petcat.AuditQuery{Newest: 1}, func(e petcat.AuditEntry) error {
		head := petcat.AuditHead{Sequence: e.Sequence, Hash: e.Hash}
		b.Log.Always.InfoContext(ctx, "audit log head", "head", head.String())
		return nil
	})
	if err != nil && ctx.Err() == nil {
		b.Log.WarnContext(ctx, "reading the audit log head failed; retrying in 24 hours", "error", err)
	}
}

// followLogLevel applies the log level that an operator set for all nodes. When that expires, the
// level of the settings applies again. While the database is unavailable, the level stays.
func (b base) followLogLevel(ctx context.Context, s levels) {
	level, until, err := s.LogLevel(ctx)
	if err != nil {
		return
	}
	if !b.Clock.Read().Time().Before(until) {
		level = b.Settings.LogLevel
	}
	if before := b.Log.Level(); level != before {
		b.Log.SetLevel(level)
		b.Log.Always.InfoContext(ctx, "log level changed", "from", before, "to", level)
	}
}
