package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/logging"
	"github.com/petcat-api/petcat/internal/store"
)

// call is one run of a command.
type call struct {
	*program

	cmd      *cobra.Command
	settings config.Settings
	store    *store.Store   // nil unless the command opens the data
	db       store.Database // of store
	log      *logging.Log   // nil unless the command runs the service
	args     []string
	asJSON   bool
}

// command makes cmd validate its arguments, call run, close the store, and then write the output.
func (p *program) command(cmd *cobra.Command, run func(*call) error) *cobra.Command {
	cmd.Args = arguments
	if cmd.ValidArgs == nil && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p.started = true
		c := &call{program: p, cmd: cmd, args: args}
		c.asJSON = c.is("json")
		return notFound(cmp.Or(run(c), c.closeStore(), c.flush()), cmd.Parent().Name())
	}
	return cmd
}

// printing completes a command that prints data.
func (p *program) printing(cmd *cobra.Command, run func(*call) error) *cobra.Command {
	cmd.Flags().Bool("json", false, "print one JSON document")
	return p.command(cmd, run)
}

// managing completes a command that works on the data: it adds the settings of the data and those in
// more, and opens the data before run.
func (p *program) managing(cmd *cobra.Command, run func(*call) error, more ...string) *cobra.Command {
	registerFlags(cmd, append(more, "data", "database")...)
	return p.printing(cmd, func(c *call) error {
		if err := c.open(false); err != nil {
			return err
		}
		return run(c)
	})
}

// closeStore closes the store if it is open. A command closes it before it waits for a person or
// another program, because an open SQLite file keeps a server from starting.
func (c *call) closeStore() error {
	opened := c.db
	if opened == nil {
		return nil
	}
	c.db, c.store = nil, nil
	return opened.Close()
}

func (c *call) ctx() context.Context { return c.cmd.Context() }

// parent makes cmd the parent of children. Without a child, cmd prints its help. An unknown child
// is a usage error, for which cobra would print the help and succeed.
func parent(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text := fmt.Sprintf("unknown command %q for %s", args[0], cmd.CommandPath())
		if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
			text += "; did you mean " + strings.Join(similar, " or ") + "?"
		}
		return errors.New(text)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// arguments checks the arguments of a command against the names in its Use. A name in brackets is
// optional. KEY_ID must be the id of a key, PET_ID of a pet,
// REQUEST_ID of a plan request, WEBHOOK_ID of a webhook, and ID of a category.
func arguments(cmd *cobra.Command, args []string) error {
	use, _, _ := strings.Cut(cmd.Use, " --")
	names := strings.Fields(use)[1:]
	required := strings.Count(use, " ") - strings.Count(use, " [")
	switch {
	case len(args) < required:
		return fmt.Errorf("%s needs %s", cmd.CommandPath(), strings.Join(names[len(args):required], " and "))
	case len(args) > len(names) && len(names) == 0:
		return fmt.Errorf("%s takes no arguments (got %q)", cmd.CommandPath(), args[0])
	case len(args) > len(names):
		return fmt.Errorf("%s takes only %s (also got %q; quote text that contains spaces)",
			cmd.CommandPath(), strings.Join(names, " "), args[len(names)])
	case len(args) > 0 && names[0] == "KEY_ID":
		_, err := parseKeyID(args[0])
		return err
	case len(args) > 0 && names[0] == "PET_ID":
		_, err := parsePetID(args[0])
		return err
	case len(args) > 0 && names[0] == "REQUEST_ID":
		_, err := parseRequestID(args[0])
		return err
	case len(args) > 0 && names[0] == "WEBHOOK_ID":
		_, err := parseWebhookID(args[0])
		return err
	case len(args) > 0 && names[0] == "ID":
		_, err := parseCategoryID(args[0])
		return err
	default:
		return nil
	}
}

// registerFlags adds the flags of the named settings; without names, of all settings.
func registerFlags(cmd *cobra.Command, names ...string) {
	for _, s := range config.Register(cmd.Flags(), names...) {
		if len(s.Choices) > 0 {
			complete(cmd, s.Flag, s.Choices...)
		}
	}
}

// complete adds shell completion of fixed values for a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	fixed := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, fixed); err != nil {
		// A bug: the flag does not exist, or already has a completion.
		panic(fmt.Sprintf("complete --%s: %v", flag, err))
	}
}

// completeFiles adds shell completion of file names for the arguments.
func completeFiles(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// yesFlag adds --yes, for commands that cannot be undone.
func yesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolP("yes", "y", false, "do not ask; required without a terminal")
}

func quietFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("quiet", false, "print only errors")
}

// text returns the value of a flag, given whether the user set it, and is its value as a bool.
func (c *call) text(flag string) string { return c.cmd.Flag(flag).Value.String() }
func (c *call) given(flag string) bool  { return c.cmd.Flags().Changed(flag) }

func (c *call) is(flag string) bool {
	value, err := c.cmd.Flags().GetBool(flag)
	return err == nil && value
}

// time returns the time in a flag, zero if it was not given. See [config.ParseTime].
func (c *call) time(flag string, from func(time.Duration) time.Time) (t time.Time, err error) {
	if c.given(flag) {
		if t, err = config.ParseTime(c.text(flag), from); err != nil {
			err = usageErrorf("--%s %v", flag, err)
		}
	}
	return t, err
}

// duration returns the duration in a flag.
func (c *call) duration(flag string) (time.Duration, error) {
	d, err := config.ParseDuration(c.text(flag))
	if err != nil {
		err = usageErrorf("--%s %v", flag, err)
	}
	return d, err
}

func (p *program) ago(d time.Duration) time.Time { return p.now().Add(-d) }

// inFuture returns the time after d, rounded up to whole seconds, so that the printed time is exact,
// and never in the past.
func (p *program) inFuture(d time.Duration) time.Time {
	return p.now().Add(d + time.Second - time.Nanosecond).Truncate(time.Second)
}

var (
	errNotConfirmed = errors.New("not confirmed, nothing was changed; answer y, or pass --yes")
	errNoTerminal   = usageErrorf("this cannot be undone and needs confirmation; without a terminal, pass --yes")
)

// confirm asks the user to confirm a change that cannot be undone. Without a terminal, --yes is
// required. An open store is closed until the user has answered.
func (c *call) confirm(yes bool, format string, args ...any) error {
	if yes {
		return nil
	}
	if !c.isTerminal(c.stdin) {
		return errNoTerminal
	}
	reopen := c.db != nil
	if err := c.closeStore(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(c.stderr, "%s [y/N] ", printable(fmt.Sprintf(format, args...)))
	answer, err := bufio.NewReader(c.stdin).ReadString('\n') // a terminal sends one line
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errNotConfirmed
	}
	if reopen {
		return c.openData(false)
	}
	return nil
}

// outliveReaders makes writes to a closed stdout or stderr fail. Otherwise, SIGPIPE would kill the
// process before it cleans up.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// interruptible cancels the context of a command on SIGINT and SIGTERM, so that it can clean up.
// It also calls outliveReaders. A second signal kills the process at once.
func interruptible(cmd *cobra.Command) (done func()) {
	outliveReaders()
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	cmd.SetContext(ctx)
	return stop
}
