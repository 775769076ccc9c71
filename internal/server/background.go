package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/datadir"
)

// The background jobs of a node, besides its health checks.

// beatInterval is the interval between a node's heartbeats, and between its reads of the log
// level that an operator set.
const beatInterval = 2 * time.Second

// joinNodes registers this node in the database, and sends heartbeats until it closes.
func (n *Node) joinNodes(ctx context.Context) error {
	n.nodes.Store(&[]petcat.Node{{ID: n.id, Version: n.Version}})
	n.beat(ctx)
	n.every(beatInterval, n.beat)
	// If Leave fails, the other nodes notice that the heartbeats stopped.
	n.onClose(func(ctx context.Context) error {
		_ = n.store.RemoveNode(ctx, n.id)
		return nil
	})
	n.metrics.Read("petcat_nodes", func() float64 { return float64(len(*n.nodes.Load())) })
	return nil
}

// beat writes the node's state to the database. It reads the running nodes, this node's label, and
// whether this node is drained. While the database is unavailable, the last values apply.
func (n *Node) beat(ctx context.Context) {
	was := n.self()
	r, _ := n.readiness()
	host, _ := os.Hostname() // "" if it is unknown
	nodes, err := n.store.Heartbeat(ctx, petcat.Node{
		ID:         n.id,
		Label:      n.Settings.Label(),
		Version:    n.Version,
		Host:       host,
		AdminURL:   n.AdminURL(),
		ConsoleURL: n.ConsoleURL(),
		PublicURL:  n.PublicURL(),
		State:      r.Status,
		Drained:    was.Drained,
	})
	if err != nil {
		return // the keyring logs that the database is unavailable
	}
	n.nodes.Store(&nodes)
	now := n.self()
	if now.Label != was.Label {
		n.Log.SetNode(now.Label)
		n.metrics.SetNode(now.Label)
	}
	if now.Drained != was.Drained {
		n.Log.InfoContext(ctx, "drain state changed", "drained", now.Drained)
	}
}

// self returns this node's record in the database.
func (n *Node) self() petcat.Node {
	for _, node := range *n.nodes.Load() {
		if node.ID == n.id {
			return node
		}
	}
	return petcat.Node{ID: n.id, Label: n.Settings.Label()}
}

// scheduleBackups starts the scheduled backups, if enabled. Only permanent errors stop the start;
// a full disk, for example, is reported by each backup.
func (n *Node) scheduleBackups(context.Context) error {
	if n.Settings.BackupEvery == 0 {
		return nil
	}
	folder, err := filepath.Abs(n.Settings.BackupDir)
	if err == nil {
		err = datadir.Prepare(folder)
	}
	for _, never := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, never) {
			return petcat.Unusablef(never, "scheduled backups cannot be written to %s (%v); "+
				"give this user write permission, or choose another directory with --backup-dir", folder, never)
		}
	}
	host, _ := os.Hostname() // "" if it is unknown
	s := &backup.Schedule{
		Database:    n.db,
		Notes:       n.store,
		Environment: n.store.Environment(),
		Dataset:     n.store.Dataset(),
		Folder:      folder,
		Every:       n.Settings.BackupEvery,
		Keep:        n.Settings.BackupKeep,
		Command:     n.Settings.BackupCommand,
		Host:        host,
		Version:     n.Version,
		Clock:       n.Clock,
		Logger:      n.Log.Logger,
	}
	n.repeat(s.UntilCheck, s.Check)
	n.metrics.Read("petcat_backup_interval_seconds", s.Every.Seconds)
	n.metrics.Read("petcat_backup_last_success_timestamp_seconds", func() float64 {
		return float64(max(0, s.Last().TakenAt.Unix())) // negative if there is none
	})
	n.metrics.Read("petcat_backup_duration_seconds", func() float64 { return s.Last().Seconds })
	n.metrics.Read("petcat_backup_size_bytes", func() float64 { return float64(s.Last().Size) })
	n.metrics.Read("petcat_backup_failures_total", func() float64 { return float64(s.Failures.Load()) })
	return nil
}

const (
	// auditInterval is the interval at which a node logs the head of the audit log.
	auditInterval = 24 * time.Hour
	// cleanInterval is the interval at which a node deletes expired rows.
	cleanInterval = time.Minute
)

// watch starts the health checks, and the jobs that follow the log level, log the head of the audit
// log and delete expired rows.
func (n *Node) watch(ctx context.Context) error {
	n.every(beatInterval, n.followLogLevel)
	n.logAuditHead(ctx)
	n.every(auditInterval, n.logAuditHead)
	n.every(cleanInterval, func(ctx context.Context) {
		if err := n.store.Clean(ctx); err != nil && ctx.Err() == nil {
			n.Log.WarnContext(ctx, "deleting expired rows failed; retrying in a minute", "error", err)
		}
	})
	n.check(ctx)
	n.every(checkInterval, n.check)
	n.metrics.Read("petcat_log_writes_lost_total", func() float64 { return float64(n.Log.Lost()) })
	return nil
}

// logAuditHead logs the head of the audit log at every log level, because an attacker with access
// only to the database cannot change it there. petcat audit verify --head checks it.
func (n *Node) logAuditHead(ctx context.Context) {
	err := n.store.EachAuditEntry(ctx, petcat.AuditQuery{Newest: 1}, func(e petcat.AuditEntry) error {
		head := petcat.AuditHead{Sequence: e.Sequence, Hash: e.Hash}
		n.Log.Always.InfoContext(ctx, "audit log head", "head", head.String())
		return nil
	})
	if err != nil && ctx.Err() == nil {
		n.Log.WarnContext(ctx, "reading the audit log head failed; retrying in 24 hours", "error", err)
	}
}

// followLogLevel applies the log level that an operator set for all nodes. When that expires, the
// level of the settings applies again. While the database is unavailable, the level stays.
func (n *Node) followLogLevel(ctx context.Context) {
	level, until, err := n.store.LogLevel(ctx)
	if err != nil {
		return
	}
	if !n.Clock.Read().Time().Before(until) {
		level = n.Settings.LogLevel
	}
	if before := n.Log.Level(); level != before {
		n.Log.SetLevel(level)
		n.Log.Always.InfoContext(ctx, "log level changed", "from", before, "to", level)
	}
}
