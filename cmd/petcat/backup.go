package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"petcat/internal/backup"
	"petcat/internal/openerror"
	"petcat/internal/osfile"
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
		Args: arguments("FILE"),
	}
	completeFiles(cmd)
	registerStoreFlags(cmd)
	asJSON, quiet := jsonFlag(cmd), quietFlag(cmd)
	force := cmd.Flags().Bool("force", false, "replace FILE if it exists")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer interruptible(cmd)()
		if args[0] == dash && !*asJSON && p.isTerminal(p.stdout) {
			return usageErrorf("a backup is binary; give a file name, or redirect stdout")
		}
		out, err := p.openOutput(args[0], *force, *asJSON)
		if err != nil {
			return err
		}
		defer out.discard()
		r := report{File: args[0], verb: "Backed up", done: "to " + args[0]}
		to := p.stdout
		if args[0] == dash {
			r.done, to = "to stdout", p.stderr
		}
		begun := p.clock.Read()
		err = p.withStore(cmd, func(ctx context.Context, st store) error {
			r.Info, err = p.backUp(ctx, st, out)
			return err
		})
		if err == nil {
			err = out.keep()
		}
		if err != nil {
			return err
		}
		r.Seconds = p.clock.Read().Since(begun).Seconds()
		return p.printReport(to, r, *asJSON, *quiet)
	}
	return cmd
}

// backUp writes a backup to an output. One that is no file gets it in the end, from a
// temporary file.
func (p *program) backUp(ctx context.Context, st store, out *output) (backup.Info, error) {
	if out.draft != nil {
		i, err := backup.Create(ctx, out.draft.Name(), st, build().Version, p.clock.Read().Time())
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
	i, err := backup.Create(ctx, temporary.Name(), st, build().Version, p.clock.Read().Time())
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

// interruptible lets SIGINT and SIGTERM end the context of a command, so that it can clean
// up, and go on when nobody reads its progress any more. A second signal ends the process at once.
func interruptible(cmd *cobra.Command) (done func()) {
	outliveReaders()
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	cmd.SetContext(ctx)
	return stop
}

func quietFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("quiet", false, "print only errors")
}

// closing closes a store. It returns err if that is not nil, else the error of closing.
func closing(st io.Closer, err error) error {
	if closeErr := st.Close(); err == nil && closeErr != nil {
		return fmt.Errorf("close the store: %w", closeErr)
	}
	return err
}

// openBackup returns the path of a regular file with a backup. What can be read only once,
// such as a pipe or stdin, is copied to a temporary file, which done removes.
func (p *program) openBackup(ctx context.Context, path string) (regular string, done func(), err error) {
	in, err := p.openInput(path, "a file written by petcat backup")
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = in.done() }()
	if in.file != nil {
		return path, func() {}, nil
	}
	temporary, err := os.CreateTemp("", ".petcat-*.backup")
	if err != nil {
		return "", nil, noTemporary(err)
	}
	done = func() { _ = os.Remove(temporary.Name()) }
	_, err = io.Copy(temporary, in)
	if err = errors.Join(err, temporary.Close()); err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		done()
		return "", nil, noTemporary(err)
	}
	return temporary.Name(), done, nil
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

// report is the result of backup, restore and verify.
type report struct {
	backup.Info

	File     string    `json:"file,omitempty"`
	Place    string    `json:"place,omitempty"` // where the backup was restored
	Seconds  float64   `json:"seconds"`
	Findings *[]string `json:"findings,omitempty"` // only from verify

	verb, done string // parts of the sentence without --json
}

// printReport prints a report, and the numbers of rows.
func (p *program) printReport(to io.Writer, r report, asJSON, quiet bool) error {
	switch {
	case asJSON:
		return p.printJSON(r)
	case quiet:
		return nil
	}
	people := *p
	people.stdout = to
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	if err := people.say("%s %s data of %s, revision %s, %s, %s bytes, in %s.", r.verb, r.Environment,
		timestamp(r.TakenAt), humanize.Comma(r.Revision), r.done, humanize.Comma(r.Size), took); err != nil {
		return err
	}
	var rows [][]string
	for _, table := range slices.Sorted(maps.Keys(r.Rows)) {
		rows = append(rows, []string{table, fmt.Sprintf("%13s", humanize.Comma(r.Rows[table]))})
	}
	return people.printColumns(rows)
}
