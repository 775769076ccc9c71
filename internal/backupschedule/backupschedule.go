package backupschedule

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/clock"
)

const (
	// checkEvery is how often, at least, a node checks what the others have done.
	checkEvery = time.Minute
	// precedence is how long other machines leave a due backup to the one that made the last.
	precedence = 10 * time.Minute
	// retryFirst and retryMost are how long a node waits after its first failure, and
	// after many. It never waits for longer than an interval.
	retryFirst, retryMost = time.Minute, time.Hour
)

// Store holds the data to back up, and the [Record] of the backups.
type Store interface {
	backup.PacedSource
	Notes
	Environment() petcat.Environment
	// Dataset names the data.
	Dataset() string
}

// Options of a [Schedule].
type Options struct {
	Store  Store
	Folder string        // that [PrepareFolder] accepted
	Every  time.Duration // from one backup to the next
	Keep   int           // how many are kept in the folder, at least 1
	// Node names this process, Host the machine.
	Node, Host string
	Version    string // of petcat, for the file
	Clock      clock.Clock
	Logger     *slog.Logger
}

// Schedule makes the backups of one node. Use [New], and call Check again and again, each
// time after what UntilCheck returns. Both are for one goroutine; Stats is for all.
type Schedule struct {
	options  Options
	files    files
	failures atomic.Int64
	last     atomic.Pointer[Backup]

	wait     time.Duration // until the next check
	failed   int           // backups in a row
	failedAt clock.Reading
	unsaved  *Backup // was made, and the store could not be told
}

// New returns a schedule.
func New(o Options) *Schedule {
	return &Schedule{options: o, files: filesOf(o.Folder, o.Store.Environment(), o.Store.Dataset())}
}

// Stats is what there is to know of a schedule.
type Stats struct {
	Failures int64 // of this node
	// Last is the last good backup of any node: the zero value until there is one.
	Last Backup
}

// Stats returns it, as of this node's last check.
func (s *Schedule) Stats() Stats {
	stats := Stats{Failures: s.failures.Load()}
	if last := s.last.Load(); last != nil {
		stats.Last = *last
	}
	return stats
}

// UntilCheck returns how long to wait before the next check.
func (s *Schedule) UntilCheck() time.Duration { return s.wait }

// Check makes a backup if one is due and nobody else does.
func (s *Schedule) Check(ctx context.Context) {
	s.wait = checkEvery
	r, text, err := Read(ctx, s.options.Store)
	if err != nil {
		return // the change log, which asks more often, has told the log
	}
	if s.unsaved != nil {
		s.save(ctx, &claim{schedule: s, record: r, text: text}, s.unsaved)
		return
	}
	s.last.Store(r.Last)
	now := s.options.Clock.Read()
	due := max(
		r.untilDue(now.Time(), s.options.Every, s.options.Host), r.claimed(now.Time(), s.options.Node), s.retryPause()-now.Since(s.failedAt),
	)
	if due > 0 {
		s.wait = min(due, checkEvery, s.options.Every) // a claim may be given up any time
		return
	}
	c := &claim{schedule: s, record: r, text: text}
	if err := c.renew(ctx); err != nil {
		s.wait = time.Second // somebody else was faster, or the database is away
		return
	}
	s.run(ctx, c)
}

// run makes a backup, and tells what became of it.
func (s *Schedule) run(ctx context.Context, c *claim) {
	made, err := s.take(ctx, c)
	switch {
	case err == nil:
		s.failed = 0
		s.options.Logger.InfoContext(ctx, "a scheduled backup was made and verified", "file", made.File, "bytes", made.Size, "seconds", made.Seconds)
		s.save(ctx, c, &made)
		if err := s.files.removeOld(s.options.Keep, made.File); err != nil {
			s.options.Logger.WarnContext(ctx, "old backups cannot be removed", "folder", s.options.Folder, "error", err)
		}
	case ctx.Err() != nil: // the node stops
		_ = c.end(ctx, c.record.Last)
	default:
		s.failures.Add(1)
		s.failed++
		s.failedAt = s.options.Clock.Read()
		s.wait = s.retryPause()
		s.options.Logger.ErrorContext(ctx, "a scheduled backup failed; older ones are kept", "folder", s.options.Folder, "retry_in", s.wait.String(), "error", err)
		_ = c.end(ctx, c.record.Last) // else it ends by itself
	}
}

// retryPause is how long to wait after the last failure.
func (s *Schedule) retryPause() time.Duration {
	if s.failed == 0 {
		return 0
	}
	pause := retryFirst
	for range s.failed - 1 {
		pause = min(2*pause, retryMost)
	}
	return min(pause, s.options.Every)
}

// save tells the store of a backup, sooner or later.
func (s *Schedule) save(ctx context.Context, c *claim, made *Backup) {
	s.last.Store(made)
	s.unsaved = nil
	s.wait = min(checkEvery, s.options.Every)
	if err := c.end(ctx, made); err != nil {
		s.unsaved, s.wait = made, time.Second
	}
}
