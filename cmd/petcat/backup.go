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

// dash is what stands for stdin and stdout in the place of a file's name.
const dash = "-"

// backupFile is what restore and verify read.
const backupFile = "a file written by petcat backup"

func (p *program) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backup FILE",
		Short:   "Back up everything into a file while the service runs",
		GroupID: groupKeep,
		Long: `Back up everything into a file while the service runs: accounts, hashes of keys,
bans, categories, idempotency keys, day counts and the audit log, as of one moment.
The file contains no keys, but it contains customers' names, so only its owner can
read it.

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

// interruptible lets a signal end a command in order, so that it leaves nothing
// half done behind; a second one ends it at once.
func interruptible(cmd *cobra.Command) (done func()) {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	cmd.SetContext(ctx)
	return stop
}

func quietFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("quiet", false, "print nothing but what went wrong")
}

// closing closes a store; err is what went wrong before.
func closing(st io.Closer, err error) error {
	if closeErr := st.Close(); err == nil && closeErr != nil {
		return fmt.Errorf("close the store: %w", closeErr)
	}
	return err
}

// progressSink shows on a bar how far a copy is.
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

// fileError turns an error that names no file into one that does.
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
