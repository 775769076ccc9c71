package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/datadir"
	"petcat/internal/openerror"
	"petcat/internal/osfile"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
)

// dash stands for stdin or stdout instead of a file name.
const dash = "-"

func (p *program) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backup FILE",
		Short:   "Back up everything into a file while the service runs",
		GroupID: groupKeep,
		Long: `Back up the data into a file while the service runs, as of one moment: everything but
the operators' sessions and sign-in links. The file contains no keys, but it contains
customers' names, so only its owner can read it.

The file is a SQLite database, whichever database the data is in: sqlite3 reads it, and
petcat restore restores it on SQLite or on PostgreSQL. With - it is written to stdout.`,
		Example: `  petcat backup /var/lib/petcat-backups/before-upgrade.backup
  petcat backup - | ssh vault 'cat > petcat.backup'
  sqlite3 petcat.backup 'SELECT count(*) FROM categories'`,
	}
	completeFiles(cmd)
	quiet := quietFlag(cmd)
	force := cmd.Flags().Bool("force", false, "replace FILE if it exists")
	return p.managing(cmd, func(c *call) error {
		defer interruptible(c.cmd)()
		path := c.args[0]
		if path == dash && !c.asJSON && c.isTerminal(c.stdout) {
			return usageErrorf("a backup is binary; give a file name, or redirect stdout")
		}
		out, err := c.openOutput(path, *force, c.asJSON)
		if err != nil {
			return err
		}
		defer out.discard()
		begun := c.clock.Read()
		if err := c.read(); err != nil {
			return err
		}
		i, err := c.backUp(out)
		if err == nil {
			err = out.keep()
		}
		if err != nil {
			return err
		}
		at := path
		if path == dash {
			people := *c.program
			people.stdout = c.stderr
			c.program, at = &people, "stdout"
		}
		return c.printReport(i, begun, *quiet, "Backed up", "to "+at, field{"file", path})
	})
}

// backUp writes a backup to an output. One that is no file gets it in the end, from a
// temporary file.
func (c *call) backUp(out *output) (backup.Info, error) {
	if out.draft != nil {
		i, err := backup.Create(c.ctx(), out.draft.Name(), c.store, build().Version, c.now())
		if osfile.IsFull(err) {
			err = out.failed(err)
		}
		return i, err
	}
	temporary, err := os.CreateTemp("", ".petcat-*.backup")
	if err != nil {
		return backup.Info{}, noTemporary(err)
	}
	defer func() { _ = errors.Join(temporary.Close(), os.Remove(temporary.Name())) }()
	i, err := backup.Create(c.ctx(), temporary.Name(), c.store, build().Version, c.now())
	if osfile.IsFull(err) {
		return i, noTemporary(err)
	}
	if err == nil {
		_, err = io.Copy(out, temporary)
	}
	return i, err
}

func noTemporary(err error) error {
	return tryLaterf("no temporary file can be written to %s (%w); free some space there, or name another directory in the environment variable TMPDIR", os.TempDir(), reason(err))
}

// backupError adds the name of the file to the error of a backup, and its exit code.
func backupError(name string, err error) error {
	e, ok := errors.AsType[*openerror.Error](err)
	if name == dash {
		name = "what comes from stdin"
	}
	switch {
	case ok && e.Kind == openerror.Foreign:
		return &failure{code: exitFailed, text: name + ": " + e.Message + "; name a file that petcat backup wrote", cause: err}
	case ok && e.Kind == openerror.NewerSchema:
		return &failure{code: exitConfig, text: name + ": " + e.Message, cause: err}
	default:
		return err
	}
}

// printReport prints the result of backup, restore and verify, and the numbers of rows. verb
// and done are parts of the sentence without --json, more what each has besides.
func (c *call) printReport(i backup.Info, begun clock.Reading, quiet bool, verb, done string, more ...field) error {
	took := c.clock.Read().Since(begun)
	switch {
	case c.asJSON:
		return c.printJSON(append(record{
			{"petcat", i.Program},
			{"taken_at", i.TakenAt},
			{"environment", i.Environment},
			{"dataset", i.Dataset},
			{"revision", i.Revision},
			{"rows", i.Rows},
			{"size", i.Size},
			{"seconds", took.Seconds()},
		}, more...))
	case quiet:
		return nil
	}
	if err := c.say("%s %s data of %s, revision %s, %s, %s bytes, in %s.", verb, i.Environment, timestamp(i.TakenAt),
		humanize.Comma(i.Revision), done, humanize.Comma(i.Size), took.Round(time.Millisecond)); err != nil {
		return err
	}
	var rows [][]string
	for _, table := range slices.Sorted(maps.Keys(i.Rows)) {
		rows = append(rows, []string{table, fmt.Sprintf("%13s", humanize.Comma(i.Rows[table]))})
	}
	return c.printColumns(rows)
}

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
	}
	completeFiles(cmd)
	quiet := quietFlag(cmd)
	return p.managing(cmd, func(c *call) error {
		defer interruptible(c.cmd)()
		settings, err := c.storeSettings(c.cmd)
		if err != nil {
			return err
		}
		begun, file, at := c.clock.Read(), c.args[0], place(settings)
		path, done, err := c.openBackup(c.ctx(), file)
		if err != nil {
			return err
		}
		defer done()
		i, findings, err := backup.Verify(c.ctx(), path)
		if err != nil {
			return backupError(file, err)
		}
		if len(findings) > 0 {
			return fmt.Errorf("%s has faults (the first: %s); use another copy, or see all faults with petcat verify", file, findings[0])
		}
		if !c.asJSON && !*quiet { // so that a user who sees the wrong target can stop the command
			if err := c.say("Restoring %s data of %s into %s.", i.Environment, timestamp(i.TakenAt), at); err != nil {
				return err
			}
		}
		if err := c.restore(c.ctx(), settings, path, i.Environment); err != nil {
			return explainRestore(err, at)
		}
		return c.printReport(i, begun, *quiet, "Restored", "into "+at, field{"file", file}, field{"place", at})
	})
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

func (p *program) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify [FILE]",
		Short:   "Check the data, or a backup, for damage",
		GroupID: groupKeep,
		Long: `Check a backup for damage: rows that have changed since it was made, damage to the
file, rows that refer to nothing, and audit log entries that were changed, removed or
moved. Without FILE, check the data while the service runs: the audit log and, on
SQLite, the file and its references. With - the backup is read from stdin.

Prints one line per fault, and then exits with 1.`,
	}
	completeFiles(cmd)
	quiet := quietFlag(cmd)
	return p.managing(cmd, func(c *call) error {
		defer interruptible(c.cmd)()
		if len(c.args) == 0 {
			return c.verifyInPlace(*quiet)
		}
		begun, file := c.clock.Read(), c.args[0]
		path, done, err := c.openBackup(c.ctx(), file)
		if err != nil {
			return err
		}
		defer done()
		i, findings, err := backup.Verify(c.ctx(), path)
		if err != nil {
			return backupError(file, err)
		}
		if err := c.printReport(i, begun, *quiet || i.TakenAt.IsZero(), "Checked", "from "+file, field{"file", file}, field{"findings", findings}); err != nil {
			return err
		}
		return c.printFindings(findings, *quiet)
	})
}

// verifyInPlace checks the data while the service runs.
func (c *call) verifyInPlace(quiet bool) error {
	if err := c.read(); err != nil {
		return err
	}
	findings, err := c.Integrity(c.ctx())
	if err != nil {
		return err
	}
	var check petcat.AuditCheck
	if _, err := c.checkAudit(&check); err != nil && len(findings) == 0 {
		return err
	}
	if fault := check.Fault(); fault != "" {
		findings = append(findings, fault)
	}
	if c.asJSON {
		if err := c.printJSON(record{{"environment", c.Environment()}, {"dataset", c.Dataset()}, {"findings", findings}}); err != nil {
			return err
		}
	}
	return c.printFindings(findings, quiet)
}

// printFindings prints the findings, unless a JSON document had them, and returns an error if
// there are any.
func (c *call) printFindings(findings []string, quiet bool) error {
	var err error
	for _, finding := range findings {
		if err == nil && !c.asJSON {
			err = c.say("fault: %s", finding)
		}
	}
	switch {
	case err != nil:
		return err
	case len(findings) == 0 && !c.asJSON && !quiet:
		return c.say("No faults.")
	case len(findings) == 0:
		return nil
	}
	return &failure{code: exitFailed, text: fmt.Sprintf("faults were found: %d; keep a copy of everything, find out who or what caused them, and restore a backup from before", len(findings))}
}
