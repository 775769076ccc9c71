package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"petcat/internal/backup"
)

// dash stands for stdin or stdout instead of a file name.
const dash = "-"

// backupFile describes the argument of restore and verify in messages.
const backupFile = "a file written by petcat backup"

func (p *program) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backup FILE",
		Short:   "Back up everything into a file while the service runs",
		GroupID: groupKeep,
		Long: `Back up the data into a file while the service runs: accounts, hashes of keys, bans,
categories, pets, orders, idempotency keys, day counts, the audit log and the usage
history, all from the same moment. Operators, their sessions and recent refusals are
not in it. The file contains no keys, but it contains customers' names, so only its
owner can read it.

petcat restore restores it on SQLite or on PostgreSQL. With - the backup is written
to stdout.`,
		Example: `  petcat backup /var/lib/petcat-backups/before-upgrade.backup
  petcat backup - | ssh vault 'cat > petcat.backup'`,
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
		if args[0] == dash {
			r.done = "to stdout"
		}
		begun := p.clock.Read()
		bar := p.newProgress("copied", !*asJSON && !*quiet)
		err = p.withStore(cmd, func(ctx context.Context, st store) error {
			w := backup.NewWriter(out, build().Version)
			err := st.Backup(ctx, &progressSink{Sink: w, bar: bar})
			bar.end()
			if err != nil {
				return err
			}
			r.Header, r.Size, err = w.Finish()
			return err
		})
		if err == nil {
			err = out.keep()
		}
		if err != nil {
			return err
		}
		r.Seconds = p.clock.Read().Since(begun).Seconds()
		to := p.stdout
		if args[0] == dash {
			to = p.stderr
		}
		return p.printReport(to, r, *asJSON, *quiet)
	}
	return cmd
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

// progressSink shows the progress of a copy.
type progressSink struct {
	backup.Sink
	bar *progress
}

func (s *progressSink) Begin(h backup.Header) error {
	s.bar.begin(h.Total())
	return s.Sink.Begin(h)
}

func (s *progressSink) Row(k backup.Kind, values []any) error {
	s.bar.step()
	return s.Sink.Row(k, values)
}

// fileError adds the name of the file, a hint and an exit code to a [backup.Error].
func fileError(name string, err error) error {
	e, ok := errors.AsType[*backup.Error](err)
	if !ok {
		return err
	}
	if name == dash {
		name = "what comes from stdin"
	}
	code, hint := exitFailed, ""
	switch e.Kind {
	case backup.Newer:
		code = exitConfig
	case backup.Foreign:
		hint = "; name a file that petcat backup wrote"
	case backup.Faulty:
		hint = ", or see all faults with petcat verify"
	case backup.Damaged:
	}
	return &failure{code: code, text: name + " " + e.Message + hint, cause: err}
}
