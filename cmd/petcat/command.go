package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"petcat/internal/config"
)

// call is one run of a command that prints data.
type call struct {
	*program
	store // nil until read or change opened it

	cmd    *cobra.Command
	args   []string
	asJSON bool
}

// printing completes a command that prints data.
func (p *program) printing(cmd *cobra.Command, run func(*call) error) *cobra.Command {
	asJSON := cmd.Flags().Bool("json", false, "print one JSON document and nothing else")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c := &call{program: p, cmd: cmd, args: args, asJSON: *asJSON}
		err := run(c)
		if c.store != nil {
			err = closing(c.store, err)
		}
		return err
	}
	return cmd
}

// managing completes a command that works on the data, with the flags that say where the
// data is, and those of more settings.
func (p *program) managing(cmd *cobra.Command, run func(*call) error, more ...string) *cobra.Command {
	registerFlags(cmd, append(more, "data", "database")...)
	return p.printing(cmd, run)
}

// reading is managing with the data open, for a command that changes nothing.
func (p *program) reading(cmd *cobra.Command, run func(*call) error) *cobra.Command {
	return p.managing(cmd, func(c *call) error {
		if err := c.read(); err != nil {
			return err
		}
		return run(c)
	})
}

// changing is managing with the data open, for a command that writes.
func (p *program) changing(cmd *cobra.Command, run func(*call) error) *cobra.Command {
	return p.managing(cmd, func(c *call) error {
		if err := c.change(); err != nil {
			return err
		}
		return run(c)
	})
}

func (c *call) ctx() context.Context { return c.cmd.Context() }

// parent makes cmd the parent of children. Without a child, cmd prints its help. A word that
// names no child is a usage error; cobra would print the help and succeed.
func parent(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// finish lets all commands check their arguments, and keeps shells from offering files as
// arguments, except for commands with a completion of their own.
func finish(cmd *cobra.Command) {
	if cmd.Args == nil {
		cmd.Args = arguments
	}
	if cmd.ValidArgs == nil && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, child := range cmd.Commands() {
		finish(child)
	}
}

// arguments checks that a command got the arguments that its Use names, and no others. A name
// in brackets is optional. KEY_ID and ID must be those of a key and of a category.
func arguments(cmd *cobra.Command, args []string) error {
	use, _, _ := strings.Cut(cmd.Use, " --")
	names := strings.Fields(use)[1:]
	required := strings.Count(use, " ") - strings.Count(use, " [")
	switch {
	case len(args) < required:
		return usageErrorf("%s needs %s", cmd.CommandPath(), strings.Join(names[len(args):required], " and "))
	case len(args) > len(names) && len(names) == 0:
		return usageErrorf("%s takes no arguments (got %q)", cmd.CommandPath(), args[0])
	case len(args) > len(names):
		return usageErrorf("%s takes only %s (also got %q; quote text that contains spaces)",
			cmd.CommandPath(), strings.Join(names, " "), args[len(names)])
	case len(args) > 0 && names[0] == "KEY_ID":
		_, err := parseKeyID(args[0])
		return err
	case len(args) > 0 && names[0] == "ID":
		_, err := parseCategoryID(args[0])
		return err
	default:
		return nil
	}
}

// unknownCommand returns the error for a word that names no command of parent.
func unknownCommand(parent *cobra.Command, word string) error {
	// Cobra sets its default distance of 2 only in its own error for unknown commands.
	if parent.SuggestionsMinimumDistance <= 0 {
		parent.SuggestionsMinimumDistance = 2
	}
	text := fmt.Sprintf("unknown command %q for %s", word, parent.CommandPath())
	if similar := parent.SuggestionsFor(word); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usageErrorf("%s", text)
}

// flagError returns the error for an unknown flag or an invalid value. If the word before
// the flag is an unknown command, the error says that instead.
func (p *program) flagError(cmd *cobra.Command, err error) error {
	depth := strings.Count(cmd.CommandPath(), " ")
	if cmd.HasSubCommands() && len(p.args) > depth && !strings.HasPrefix(p.args[depth], "-") {
		return unknownCommand(cmd, p.args[depth])
	}
	return usage(err)
}

// registerFlags adds the flags of the named settings; without names, those of all settings.
func registerFlags(cmd *cobra.Command, names ...string) {
	for _, s := range config.Register(cmd.Flags(), names...) {
		if len(s.Choices) > 0 {
			complete(cmd, s.Flag, s.Choices...)
		}
	}
}

// complete offers fixed values for a flag of cmd.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("complete --%s: %v", flag, err)) // the flag does not exist or was completed before: a mistake in this program
	}
}

// completeFiles offers files as the arguments of cmd.
func completeFiles(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// parseTime reads a time that the user typed: a duration (7d), which from turns into a time,
// the beginning of a day in UTC (2027-01-31), or an instant (RFC 3339). The result has whole
// seconds.
func parseTime(s string, from func(time.Duration) time.Time) (time.Time, error) {
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, s); err == nil && t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 {
			return t.UTC().Truncate(time.Second), nil
		}
	}
	d, err := config.ParseDuration(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("must be a duration such as 7d, a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z (got %q)", s)
	}
	return from(d), nil
}

func (p *program) ago(d time.Duration) time.Time { return p.now().Add(-d) }

// inFuture rounds up to whole seconds, so that what is printed is exact, and a short time is not
// over before it begins.
func (p *program) inFuture(d time.Duration) time.Time {
	return p.now().Add(d + time.Second - time.Nanosecond).Truncate(time.Second)
}

// yesFlag adds --yes to a command that cannot be undone.
func yesFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().BoolP("yes", "y", false, "do not ask; required without a terminal")
}

func quietFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("quiet", false, "print only errors")
}

var (
	errNotConfirmed = errors.New("not confirmed, so nothing was changed; answer y, or pass --yes")
	errNobodyToAsk  = usageErrorf("this cannot be undone and needs confirmation; without a terminal, pass --yes")
)

// confirm asks the user before a change that cannot be undone. Without a terminal it cannot
// ask, so --yes is required.
func (p *program) confirm(yes bool, format string, args ...any) error {
	if yes {
		return nil
	}
	if !p.isTerminal(p.stdin) {
		return errNobodyToAsk
	}
	_, _ = fmt.Fprintf(p.stderr, "%s [y/N] ", printable(fmt.Sprintf(format, args...)))
	answer, err := readLine(p.stdin)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	default:
		return errNotConfirmed
	}
}

// outliveReaders lets a write to stdout or stderr fail when nobody reads it any more. Otherwise
// SIGPIPE would end the process before it has cleaned up.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// interruptible lets SIGINT and SIGTERM end the context of a command, so that it can clean
// up, and go on when nobody reads its progress any more. A second signal ends the process at once.
func interruptible(cmd *cobra.Command) (done func()) {
	outliveReaders()
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	cmd.SetContext(ctx)
	return stop
}
