package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/config"
	"petcat/internal/datadir"
	"petcat/internal/openerror"
	"petcat/internal/postgres"
	"petcat/internal/sqlite"
)

func (p *program) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "restore FILE",
		Short:   "Restore a backup, on SQLite or on PostgreSQL",
		GroupID: groupKeep,
		Long: `Restore a backup into a data directory or a database that holds no data, on SQLite
or on PostgreSQL, whichever it was taken from: with the same ids, keys, plans, bans,
day counts and idempotency keys. If anything fails, nothing is restored. No server
may use the target meanwhile. A file in which petcat verify finds faults is refused.
With - the backup is read from stdin.

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
		in, err := p.openInput(args[0], backupFile)
		if err != nil {
			return err
		}
		defer func() { _ = in.done() }()
		begun := p.clock.Read()
		h, size, err := p.restore(cmd.Context(), settings, in, !*asJSON && !*quiet)
		if err != nil {
			return fileError(args[0], err)
		}
		return p.printReport(p.stdout, report{
			Header: h, File: args[0], Place: place(settings), Size: size, Seconds: p.clock.Read().Since(begun).Seconds(),
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

// restore reads a file twice: first to check it, before anything is written. A stream is
// read once, and checked while it is restored.
func (p *program) restore(ctx context.Context, settings config.Settings, in *input, show bool) (backup.Header, int64, error) {
	if in.file != nil {
		bar := p.newProgress("checked", show)
		if _, err := p.readInto(ctx, in, bar, discard{}, true); err != nil {
			return backup.Header{}, 0, err
		}
		if _, err := in.file.Seek(0, io.SeekStart); err != nil {
			return backup.Header{}, 0, fmt.Errorf("read %s again: %w", in.name, err)
		}
	}
	counted := &counter{Reader: in.Reader}
	r, err := backup.NewReader(counted)
	if err != nil {
		return backup.Header{}, 0, err
	}
	defer r.Close()
	r.Strict = in.file == nil // a file was checked before
	h := r.Header()
	bar := p.newProgress("restored", show)
	bar.begin(h.Total())
	// This is printed when the target was accepted and nothing is written yet, so that a
	// user who sees the wrong target can stop the command.
	announce := sync.OnceFunc(func() {
		if show {
			_ = p.say("Restoring %s data of %s into %s.", h.Environment, timestamp(h.TakenAt), place(settings))
		}
	})
	r.Observe = func() {
		announce()
		bar.step()
	}
	err = p.restoreInto(ctx, settings, r)
	bar.end()
	return h, counted.size, explainRestore(err, settings)
}

// restoreInto opens the target as a server does, so that no server can use it meanwhile.
func (p *program) restoreInto(ctx context.Context, settings config.Settings, r *backup.Reader) error {
	environment := r.Header().Environment
	if !settings.UsesSQLite() {
		st, err := postgres.Open(ctx, postgres.Options{URL: settings.Database, Environment: environment, Clock: p.clock})
		if err != nil {
			return err
		}
		return closing(st, st.Restore(ctx, actor(), r))
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
	st, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Environment: environment, Clock: p.clock, Serving: true})
	if err != nil {
		return err
	}
	return closing(st, st.Restore(ctx, actor(), r))
}

// explainRestore turns an error of the target into one that says what to do.
func explainRestore(err error, settings config.Settings) error {
	at := place(settings)
	unusable, _ := errors.AsType[*openerror.Error](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("restore: %w", context.Canceled)
	case errors.Is(err, backup.ErrUnknown):
		return tryLaterf("the last answer of %s was lost, so it has all of the backup or nothing; bring it back, and check with: petcat verify (%w)", at, err)
	case errors.Is(err, backup.ErrNotEmpty), unusable != nil && unusable.Kind == openerror.OtherEnvironment:
		return config.Errorf("%s already contains data; restore into a new data directory (--data) or an empty database (--database)", at)
	case errors.Is(err, backup.ErrInUse):
		return tryLaterf("a server uses %s; stop it, and restore again (one that was killed counts for 10 s)", at)
	case unusable == nil && petcat.CodeOf(err) == petcat.CodeServiceUnavailable:
		return tryLaterf("%s cannot be written, and nothing was kept (%w); bring it back or free some space, and restore again", at, petcat.Public(err).Unwrap())
	default:
		return err
	}
}

// readInto copies a backup to a sink, and returns its size in bytes. If strict, a backup
// with faults is an error.
func (p *program) readInto(ctx context.Context, in *input, bar *progress, to backup.Sink, strict bool) (int64, error) {
	counted := &counter{Reader: in.Reader, ctx: ctx}
	r, err := backup.NewReader(counted)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	r.Strict = strict
	err = r.CopyTo(&progressSink{Sink: to, bar: bar})
	bar.end()
	return counted.size, err
}

// discard is a sink that keeps nothing, for a backup that is read only to be checked.
type discard struct{}

func (discard) Begin(backup.Header) error    { return nil }
func (discard) Row(backup.Kind, []any) error { return nil }

// counter counts the bytes of a stream. Reads fail after its context has ended.
type counter struct {
	io.Reader
	ctx  context.Context //nolint:containedctx // the stream lives no longer than the command
	size int64
}

func (c *counter) Read(b []byte) (int, error) {
	if c.ctx != nil && c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	n, err := c.Reader.Read(b)
	c.size += int64(n)
	return n, err
}
