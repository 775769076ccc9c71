package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/config"
	"petcat/internal/datadir"
	"petcat/internal/openerror"
	"petcat/internal/osfile"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
)

func (p *program) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "restore FILE",
		Short:   "Restore a backup, on SQLite or on PostgreSQL",
		GroupID: groupKeep,
		Long: `Restore a backup into an empty data directory or database, on SQLite or on PostgreSQL,
whichever it was made from: with the same ids, keys, plans, bans, day counts and
idempotency keys. If anything fails, nothing is restored. No server may use the target
meanwhile. A file in which petcat verify finds faults is refused. With - the backup is
read from stdin.

To migrate a deployment: stop it, back it up, restore it at the target and start it
there.`,
		Example: `  petcat restore petcat.backup --data ./new
  petcat restore petcat.backup --database postgres://petcat@db/petcat`,
		Args: arguments("FILE"),
	}
	completeFiles(cmd)
	registerStoreFlags(cmd)
	asJSON, quiet := jsonFlag(cmd), quietFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer interruptible(cmd)()
		settings, err := p.storeSettings(cmd)
		if err != nil {
			return err
		}
		begun := p.clock.Read()
		path, done, err := p.openBackup(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer done()
		i, findings, err := backup.Verify(cmd.Context(), path)
		if err != nil {
			return backupError(args[0], err)
		}
		if len(findings) > 0 {
			return fmt.Errorf("%s has faults (the first: %s); use another copy, or see all faults with petcat verify", args[0], findings[0])
		}
		if !*asJSON && !*quiet { // so that a user who sees the wrong target can stop the command
			if err := p.say("Restoring %s data of %s into %s.", i.Environment, timestamp(i.TakenAt), place(settings)); err != nil {
				return err
			}
		}
		if err := p.restore(cmd.Context(), settings, path, i.Environment); err != nil {
			return explainRestore(err, place(settings))
		}
		return p.printReport(p.stdout, report{
			Info: i, File: args[0], Place: place(settings), Seconds: p.clock.Read().Since(begun).Seconds(),
			verb: "Restored", done: "into " + place(settings),
		}, *asJSON, *quiet)
	}
	return cmd
}

// place returns where the data is, for messages.
func place(s config.Settings) string {
	if !s.UsesSQLite() {
		return "the PostgreSQL database at " + postgres.Place(s.Database)
	}
	if absolute, err := filepath.Abs(s.Data); err == nil {
		return absolute
	}
	return s.Data
}

// restore fills the target, which no server can use meanwhile.
func (p *program) restore(ctx context.Context, settings config.Settings, path string, environment petcat.Environment) error {
	if !settings.UsesSQLite() {
		f, err := backup.Open(ctx, path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		st, err := postgres.Open(ctx, postgres.Options{URL: settings.Database, Environment: environment, Clock: p.clock})
		if err != nil {
			return err
		}
		return closing(st, st.Restore(ctx, actor(), f))
	}
	dir, err := datadir.Open(settings.Data)
	if err != nil {
		return err
	}
	lock, err := dir.LockServer()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	return sqlite.Restore(ctx, dir, actor(), path, p.clock)
}

// explainRestore turns an error of the target into one that says what to do.
func explainRestore(err error, at string) error {
	unusable, _ := errors.AsType[*openerror.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("restore: %w", context.Canceled)
	case errors.Is(err, petcat.ErrOutcomeUnknown):
		return tryLaterf("the last answer of %s was lost, so it has all of the backup or nothing; bring it back, and check with: petcat verify (%w)", at, err)
	case unusable != nil && unusable.Kind == openerror.NotEmpty:
		return config.Errorf("%s; restore into a new data directory (--data) or an empty database (--database)", unusable.Message)
	case unusable != nil && unusable.Kind == openerror.OtherEnvironment:
		return config.Errorf("%s already contains data; restore into a new data directory (--data) or an empty database (--database)", at)
	case osfile.IsFull(err):
		return tryLaterf("%s cannot be written, and nothing was kept (%w); free some space, and restore again", at, reason(err))
	case unusable == nil && petcat.CodeOf(err) == petcat.CodeServiceUnavailable:
		return tryLaterf("%s cannot be written, and nothing was kept (%w); bring it back or free some space, and restore again", at, petcat.Public(err).Unwrap())
	default:
		return err
	}
}
