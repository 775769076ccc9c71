package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/config"
	"petcat/internal/datadir"
)

// What a node does besides serving requests and checking its health.

// beatInterval is the interval between a node's heartbeats, and between its reads of the log
// level that an operator set.
const beatInterval = 2 * time.Second

// joinNodes registers this node in the database, and sends heartbeats until it closes.
func (n *Node) joinNodes(ctx context.Context) error {
	n.nodes.Store(&[]petcat.Node{{ID: n.id, Version: n.Version}})
	n.beat(ctx)
	n.every(beatInterval, n.beat)
	// If it fails, the others notice that the beats end.
	n.onClose(func(ctx context.Context) error { _ = n.store.Leave(ctx, n.id); return nil })
	n.metrics.Read("petcat_nodes", func() float64 { return float64(len(*n.nodes.Load())) })
	return nil
}

// beat tells the database the node's state, and learns which nodes run, how this one is
// called and whether it is drained. While the database is unavailable, the last answer holds.
func (n *Node) beat(ctx context.Context) {
	was := n.self()
	r, _ := n.readiness()
	host, _ := os.Hostname() // "" if it is unknown
	nodes, err := n.store.Beat(ctx, petcat.Node{
		ID: n.id, Label: n.Settings.Label(), Version: n.Version, Host: host, AdminURL: n.AdminURL(), ConsoleURL: n.ConsoleURL(), PublicURL: n.PublicURL(), State: r.Status, Drained: was.Drained,
	})
	if err != nil {
		return // the feed of the keyring logs that the database is unavailable
	}
	n.nodes.Store(&nodes)
	now := n.self()
	if now.Label != was.Label {
		n.Log.SetNode(now.Label)
		n.metrics.SetNode(now.Label)
	}
	if now.Drained != was.Drained {
		n.Log.InfoContext(ctx, "node drained or resumed", "drained", now.Drained)
	}
}

// self returns this node as the database knows it.
func (n *Node) self() petcat.Node {
	nodes := *n.nodes.Load()
	if i := slices.IndexFunc(nodes, func(other petcat.Node) bool { return other.ID == n.id }); i >= 0 {
		return nodes[i]
	}
	return petcat.Node{ID: n.id, Label: n.Settings.Label()}
}

// scheduleBackups starts the scheduled backups, if --backup-every asks for them. What may
// pass, such as a full disk, does not stop the start: the backups report it.
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
			return config.Errorf("scheduled backups cannot be written to %s (%w); give this user write permission, or choose another directory with --backup-dir", folder, never)
		}
	}
	host, _ := os.Hostname() // "" if it is unknown
	s := &backup.Schedule{
		Store: n.store, Folder: folder, Every: n.Settings.BackupEvery, Keep: n.Settings.BackupKeep, Command: n.Settings.BackupCommand,
		Host: host, Version: n.Version, Clock: n.Clock, Logger: n.Log.Logger,
	}
	n.repeat(s.UntilCheck, s.Check)
	n.metrics.Read("petcat_backup_interval_seconds", s.Every.Seconds)
	n.metrics.Read("petcat_backup_last_success_timestamp_seconds", func() float64 { return float64(max(0, s.Last().TakenAt.Unix())) })
	n.metrics.Read("petcat_backup_duration_seconds", func() float64 { return s.Last().Seconds })
	n.metrics.Read("petcat_backup_size_bytes", func() float64 { return float64(s.Last().Size) })
	n.metrics.Read("petcat_backup_failures_total", func() float64 { return float64(s.Failures.Load()) })
	return nil
}

const (
	// auditInterval is how often a node writes the head of the audit log to its log.
	auditInterval = 24 * time.Hour
	// cleanInterval is how often a node deletes what has expired.
	cleanInterval = time.Minute
)

// watch starts the checks of the node's health and of the log level, logs the head of the audit
// log, and deletes what has expired.
func (n *Node) watch(ctx context.Context) error {
	n.every(beatInterval, n.followLogLevel)
	n.logAuditHead(ctx)
	n.every(auditInterval, n.logAuditHead)
	n.every(cleanInterval, func(ctx context.Context) {
		if err := n.store.Clean(ctx); err != nil && ctx.Err() == nil {
			n.Log.WarnContext(ctx, "expired rows could not be deleted; retrying in a minute", "error", err)
		}
	})
	n.check(ctx)
	n.every(checkInterval, n.check)
	n.metrics.Read("petcat_log_writes_lost_total", func() float64 { return float64(n.Log.Lost()) })
	return nil
}

// logAuditHead writes the head of the audit log to the node's log: somebody who can write
// only the database cannot alter it there.
func (n *Node) logAuditHead(ctx context.Context) {
	err := n.store.EachAuditEntry(ctx, petcat.AuditQuery{Newest: 1}, func(e petcat.AuditEntry) error {
		head := petcat.AuditHead{Sequence: e.Sequence, Hash: e.Hash}
		n.Log.InfoContext(ctx, "the head of the audit log, for petcat audit verify --head", "head", head.String())
		return nil
	})
	if err != nil && ctx.Err() == nil {
		n.Log.WarnContext(ctx, "the head of the audit log could not be read; the next attempt is tomorrow", "error", err)
	}
}

// followLogLevel logs at the level that an operator set for all nodes, and at the level of the
// settings after that expired. While the database is unavailable, the level stays.
func (n *Node) followLogLevel(ctx context.Context) {
	level, until, err := n.store.LogLevel(ctx)
	if err != nil {
		return
	}
	if !n.Clock.Read().Time().Before(until) {
		level = n.Settings.LogLevel
	}
	if before := n.Log.Level(); level != before {
		// The line is logged at the lower of both levels, so that neither hides it.
		n.Log.SetLevel(min(level, before))
		n.Log.InfoContext(ctx, "log level changed", "from", before, "to", level)
		n.Log.SetLevel(level)
	}
}
