package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/store"
)

const (
	// checkEvery is the time between checks whether a backup is due. The next backup may be due
	// later than expected, because another node has made one.
	checkEvery = time.Minute
	// retryAfter is the delay after a failure, if the interval is not shorter.
	retryAfter = 10 * time.Minute
	// lastMadeName is the name of the shared text about the last successful backup.
	lastMadeName = "scheduled_backup"
)

// SharedTexts stores short texts that all nodes share.
type SharedTexts interface {
	SharedText(ctx context.Context, name string) (string, error)
	SetSharedText(ctx context.Context, name, text string) error
}

// Database is the database that a [Schedule] backs up.
type Database interface {
	Source
	// Alone calls fn unless another node is in Alone with the same job.
	Alone(ctx context.Context, j store.Job, fn func(context.Context) error) error
}

// Made is a scheduled backup after its verification and the command.
type Made struct {
	TakenAt time.Time `json:"taken_at"` // time of the copy
	Host    string    `json:"host"`     // machine
	File    string    `json:"file"`     // path on the machine
	Size    int64     `json:"size"`     // in bytes
	Seconds float64   `json:"seconds"`  // duration, including verification
}

// LastMade returns the last successful backup of any node, or the zero value.
func LastMade(ctx context.Context, texts SharedTexts) (last Made, err error) {
	text, err := texts.SharedText(ctx, lastMadeName)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &last)
	}
	return last, err
}

// Schedule makes backups at intervals, on one node at a time. A backup is successful when it was
// verified and the command succeeded; only then are old backups deleted. Call Check repeatedly,
// with the delay UntilCheck between the calls, from one goroutine.
type Schedule struct {
	Database    Database
	Shared      SharedTexts
	Environment petcat.Environment // of the data
	Dataset     string             // name of the data
	Folder      string             // an absolute path
	Every       time.Duration      // interval between backups
	Keep        int                // number of backups to keep, at least 1
	Command     string             // program to run with the path of each backup, or ""
	Host        string             // name of this machine
	Version     string             // of petcat
	Clock       clock.Clock
	Logger      *slog.Logger
	Failed      func(context.Context) // called after each failure

	Failures atomic.Int64 // of this node
	Damaged  atomic.Int64 // of Failures: those in which verification found faults

	last     atomic.Value // Made
	wait     time.Duration
	rejected string // the last file if the command failed
}

// Last returns the last successful backup of any node at the time of the last check.
func (s *Schedule) Last() Made {
	last, _ := s.last.Load().(Made)
	return last
}

// UntilCheck returns the delay before the next check.
func (s *Schedule) UntilCheck() time.Duration { return s.wait }

// Check makes a backup if one is due and no other node is making one.
func (s *Schedule) Check(ctx context.Context) {
	s.wait = min(checkEvery, s.Every)
	due, err := s.untilDue(ctx)
	if err == nil && due <= 0 {
		err = s.Database.Alone(ctx, store.BackupJob, s.make)
	} else if err == nil {
		s.wait = min(s.wait, due)
	}
	if err != nil && ctx.Err() == nil {
		s.wait = min(retryAfter, s.Every)
		s.Failed(ctx)
		s.Failures.Add(1)
		s.Logger.ErrorContext(ctx,
			"scheduled backup failed; older backups are kept",
			"folder", s.Folder, "retry_in", s.wait.String(), "error", err)
	}
}

// untilDue returns the time until the next backup is due.
func (s *Schedule) untilDue(ctx context.Context) (time.Duration, error) {
	last, err := LastMade(ctx, s.Shared)
	if err != nil {
		return 0, err
	}
	s.last.Store(last)
	age := s.Clock.Read().Time().Sub(last.TakenAt)
	if age < -s.Every {
		return 0, nil // the clock was set back
	}
	return s.Every - age, nil
}

// make makes a backup if one is still due. It runs on one node at a time.
func (s *Schedule) make(ctx context.Context) error {
	if due, err := s.untilDue(ctx); err != nil || due > 0 {
		return err
	}
	begun := s.Clock.Read()
	folder := s.folder()
	if err := folder.RemoveDrafts(begun.Time()); err != nil {
		return err
	}
	path, info, err := folder.Write(ctx, s.Database, s.Clock)
	if errors.Is(err, errDamaged) {
		s.Damaged.Add(1)
	}
	if err != nil {
		return err
	}
	made := Made{
		TakenAt: info.TakenAt,
		Host:    s.Host,
		File:    path,
		Size:    info.Size,
		Seconds: s.Clock.Read().Since(begun).Seconds(),
	}
	if s.rejected != "" {
		_ = os.Remove(s.rejected)
	}
	s.rejected = made.File
	if err := s.runCommand(ctx, made.File); err != nil {
		return err
	}
	s.rejected = ""
	s.last.Store(made)
	text, err := json.Marshal(made)
	if err == nil {
		err = s.Shared.SetSharedText(ctx, lastMadeName, string(text))
	}
	if err != nil {
		return fmt.Errorf("record the last backup: %w", err)
	}
	s.Logger.InfoContext(ctx, "scheduled backup finished", "file", made.File, "bytes", made.Size, "seconds", made.Seconds)
	if err := folder.Keep(s.Keep, made.File); err != nil {
		s.Logger.WarnContext(ctx, "deletion of old backups failed", "folder", s.Folder, "error", err)
	}
	return nil
}

// folder returns the folder of the backups.
func (s *Schedule) folder() Folder {
	return Folder{
		Path:        s.Folder,
		Environment: s.Environment,
		Dataset:     s.Dataset,
		Version:     s.Version,
	}
}

// runCommand runs the operator's program with the path of a backup. If it takes longer than the
// interval, it is killed with all programs that it started, because no node makes a backup while it
// runs. A program that succeeds may leave others running, such as a shared connection of ssh.
func (s *Schedule) runCommand(ctx context.Context, path string) error {
	if s.Command == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Every, fmt.Errorf("it took longer than %s", s.Every))
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Command, path)
	cmd.WaitDelay = time.Second
	asGroup(cmd)
	output, err := cmd.CombinedOutput()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // only a program that succeeded has this error
		err = cmp.Or(context.Cause(ctx), err)
		return fmt.Errorf(
			"the command %s failed for %s: %w: %s",
			s.Command, path, err, output[max(0, len(output)-500):])
	}
	return nil
}
