package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/backup"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/postgres"
	"github.com/petcat-api/petcat/internal/sqlite"
)

func (p *program) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the data into a file while the service runs",
		Long: `Write a consistent backup of the data into a file while the service runs. It
contains customers' names and key hashes, but no keys, sessions or sign-in
links. Only the owner of the file can read it.

The file is a SQLite database, even if the data is in PostgreSQL: sqlite3 can
read it, and petcat restore can load it into SQLite or PostgreSQL. With -, it is
written to stdout.

With --keep, FILE is a directory. The backup's name contains its time. After it
is verified, the oldest backups of the same deployment are deleted.`,
		Example: `  petcat backup /var/lib/petcat-backups/before-upgrade.backup
  petcat backup /var/lib/petcat-backups --keep 7
  petcat backup - | ssh vault 'cat > petcat.backup'
  sqlite3 petcat.backup 'SELECT count(*) FROM categories'`,
	}
	completeFiles(cmd)
	quietFlag(cmd)
	cmd.Flags().Bool("force", false, "replace FILE if it exists")
	cmd.Flags().Int("keep", 0, "write into the directory FILE, and keep this number of backups there")
	cmd.MarkFlagsMutuallyExclusive("force", "keep")
	return p.managing(cmd, backUp)
}

func backUp(c *call) error {
	defer interruptible(c.cmd)()
	path := c.args[0]
	if c.given("keep") {
		return backUpInto(c, path)
	}
	if path == dash && !c.asJSON && c.isTerminal(c.stdout) {
		return usageErrorf("a backup is binary; give a file name, or redirect stdout")
	}
	if path != dash {
		if err := datadir.CheckUser(filepath.Dir(path)); err != nil {
			return err
		}
	}
	out, err := c.openOutput(path, c.is("force"), c.asJSON)
	if err != nil {
		return err
	}
	defer out.discard()
	begun := c.clock.Read()
	i, err := c.backUp(out)
	if err == nil {
		err = out.keep()
	}
	if err != nil || path == dash || c.is("quiet") {
		return err
	}
	return c.show(c.reportRecord(path, i, begun))
}

// abandonedAfter is the time without a write after which a backup counts as abandoned: its process was
// killed.
const abandonedAfter = 24 * time.Hour

// backUpInto writes a backup into a directory, and deletes the oldest ones.
func backUpInto(c *call, directory string) error {
	keep, _ := c.cmd.Flags().GetInt("keep")
	if keep < 1 {
		return usageErrorf("--keep must be at least 1")
	}
	if info, err := os.Stat(directory); err != nil || !info.IsDir() {
		return usageErrorf("%s is not a directory; create it first, or leave out --keep", directory)
	}
	if err := datadir.CheckUser(directory); err != nil {
		return err
	}
	folder := backup.Folder{
		Path:        directory,
		Environment: c.store.Environment(),
		Dataset:     c.store.Dataset(),
		Version:     build().Version,
	}
	if err := folder.RemoveDrafts(c.now().Add(-abandonedAfter)); err != nil {
		return err
	}
	begun := c.clock.Read()
	path, i, err := folder.Write(c.ctx(), c.db, c.clock)
	if err == nil {
		err = folder.Keep(keep, path)
	}
	if err != nil || c.is("quiet") {
		return err
	}
	return c.show(c.reportRecord(path, i, begun))
}

// backUp writes a backup to an output: a file directly, stdout from a temporary file at the end.
func (c *call) backUp(out *output) (i backup.Info, err error) {
	if out.draft != nil {
		return backup.Create(c.ctx(), out.draft.Name(), c.db, build().Version, c.now())
	}
	temporary, err := datadir.NewTemporary()
	if err != nil {
		return i, err
	}
	defer temporary.Discard()
	i, err = backup.Create(c.ctx(), temporary.Name(), c.db, build().Version, c.now())
	if err = cmp.Or(err, c.closeStore()); err == nil {
		_, err = io.Copy(out, temporary)
	}
	return i, err
}

// backupError adds the name of the file to the error of a backup.
func backupError(name string, err error) error {
	if e, ok := errors.AsType[*petcat.UnusableError](err); ok {
		return &failure{
			code:  exitFailed,
			text:  name + ": " + e.Message + "; give a file that petcat backup wrote",
			cause: err,
		}
	}
	return err
}

// reportRecord is the record of a backup that backup, restore and verify print.
func (c *call) reportRecord(file string, i backup.Info, begun clock.Reading) record {
	rows, took := int64(0), c.clock.Read().Since(begun).Seconds()
	for _, n := range i.Rows {
		rows += n
	}
	return record{
		kv("file", file),
		kv("petcat", i.Program),
		kv("taken_at", i.TakenAt),
		kv("environment", i.Environment),
		kv("dataset", i.Dataset),
		kv("revision", i.Revision),
		kv("rows", shown(i.Rows, humanize.Comma(rows))),
		kv("size", i.Size),
		kv("seconds", shown(took, fmt.Sprintf("%.3f", took))),
	}
}

func (p *program) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup into SQLite or PostgreSQL",
		Long: `Restore a backup of either database into a data directory without a database, or
into an empty PostgreSQL database. If anything fails, nothing is restored. Stop
all servers of the target first. A backup in which petcat verify finds faults is
rejected. With -, the backup is read from stdin.

FILE may also be a SQLite database that is not in use, such as one that
litestream restored.`,
		Example: `  petcat restore petcat.backup --data ./new
  petcat restore petcat.backup --database postgres://petcat@db/petcat`,
	}
	registerFlags(cmd, "data", "database")
	completeFiles(cmd)
	quietFlag(cmd)
	return p.printing(cmd, func(c *call) (err error) {
		defer interruptible(c.cmd)()
		if c.settings, err = c.storeSettings(c.cmd); err != nil {
			return err
		}
		begun := c.clock.Read()
		return c.withBackup(func(path string, i backup.Info, findings []string) error {
			if len(findings) > 0 {
				return fmt.Errorf(
					"%s has faults (the first: %s); use another copy, or see all faults with petcat verify",
					c.args[0], findings[0])
			}
			if err := c.restore(path, i.Environment); err != nil || c.is("quiet") {
				return err
			}
			c.warn("keys and tokens that were revoked, and operators who were removed, after the backup are back; " +
				"compare petcat audit list of the old data, and repeat the changes")
			return c.show(append(c.reportRecord(c.args[0], i, begun), kv("place", place(c.settings))))
		})
	})
}

// withBackup verifies the backup that the first argument names, and calls do with its path and the
// findings. It first makes a backup of a database file.
func (c *call) withBackup(do func(path string, i backup.Info, findings []string) error) error {
	path, done, err := c.openBackup(c.ctx(), c.args[0])
	if err != nil {
		return err
	}
	defer done()
	isDatabase, err := sqlite.IsDatabase(path)
	if err != nil {
		return err
	}
	if isDatabase {
		return c.withDatabase(path, do)
	}
	return c.withVerified(path, do)
}

// withDatabase is withBackup for a database file.
func (c *call) withDatabase(path string, do func(string, backup.Info, []string) error) error {
	temporary, err := datadir.NewTemporary()
	if err != nil {
		return err
	}
	defer temporary.Discard()
	findings, err := backup.Convert(c.ctx(), temporary.Name(), path, build().Version, c.now())
	if err != nil {
		return backupError(c.args[0], err)
	}
	if len(findings) > 0 {
		return do(path, backup.Info{}, findings)
	}
	return c.withVerified(temporary.Name(), do)
}

func (c *call) withVerified(path string, do func(string, backup.Info, []string) error) error {
	i, findings, err := backup.Verify(c.ctx(), path)
	if err != nil {
		return backupError(c.args[0], err)
	}
	return do(path, i, findings)
}

// restore fills the target, which it locks against servers.
func (c *call) restore(path string, environment petcat.Environment) error {
	if !c.settings.UsesSQLite() {
		f, err := backup.Open(c.ctx(), path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		st, err := postgres.Open(
			c.ctx(),
			postgres.Options{URL: c.settings.Database, Environment: environment, Clock: c.clock},
		)
		if err != nil {
			return err
		}
		return errors.Join(st.Restore(c.ctx(), actor(), f), st.Close())
	}
	dir, err := datadir.Open(c.settings.Data, true)
	if err != nil {
		return err
	}
	lock, err := dir.LockServer()
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	return sqlite.Restore(c.ctx(), dir, actor(), path, c.clock)
}

func (p *program) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify [FILE]",
		Short:   "Check the data, or a backup, for damage",
		Example: "  petcat verify petcat.backup",
		Long: `Check the file, rows, references and audit log of a backup for damage. Without
FILE, check the data, while the service runs. With -, the backup is read from
stdin. If there are faults, print one line for each and exit with 1. FILE may
also be a SQLite database that is not in use.`,
	}
	registerFlags(cmd, "data", "database")
	completeFiles(cmd)
	quietFlag(cmd)
	return p.printing(cmd, func(c *call) error {
		defer interruptible(c.cmd)()
		if len(c.args) == 0 {
			return verifyData(c)
		}
		begun := c.clock.Read()
		return c.withBackup(func(_ string, i backup.Info, findings []string) error {
			report := c.reportRecord(c.args[0], i, begun)
			if len(findings) > 0 || c.asJSON || c.is("quiet") {
				return c.printFindings(report, "Checked "+c.args[0]+".", findings)
			}
			return errors.Join(c.show(report), c.say("No faults."))
		})
	})
}

// verifyData checks the data while the service runs.
func verifyData(c *call) error {
	if err := c.open(false); err != nil {
		return err
	}
	findings, err := c.db.Integrity(c.ctx())
	if err != nil {
		return err
	}
	faults, _, err := c.checkAudit(new(petcat.AuditCheck))
	if err != nil && len(findings) == 0 {
		return err
	}
	return c.printFindings(
		record{kv("environment", c.store.Environment()), kv("dataset", c.store.Dataset())},
		"Checked "+place(c.settings)+".",
		append(findings, faults...),
	)
}
