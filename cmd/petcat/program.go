package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"petcat"
	"petcat/internal/clock"
)

// program is what all commands share: streams, environment, clock and randomness.
type program struct {
	args           []string
	environ        []string // as [os.Environ] returns it
	stdin          io.Reader
	stdout, stderr io.Writer
	clock          clock.Clock
	random         io.Reader
	// isTerminal reports whether a stream is a terminal.
	isTerminal func(stream any) bool
}

// run runs the program and returns its exit code. It uses no other streams and no other
// environment.
func run(ctx context.Context, args []string, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{
		args: args, environ: environ,
		stdin: stdin, stdout: stdout, stderr: stderr,
		clock: clock.NewSystem(), random: rand.Reader,
		isTerminal: isTerminal,
	}
	return p.run(ctx)
}

func (p *program) run(ctx context.Context) int {
	root := p.rootCommand()
	root.SetArgs(p.args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	code := exitCode(err)
	text := explain(err)
	if code == exitUsage {
		text += "; see: " + cmd.CommandPath() + " --help"
	}
	_, _ = fmt.Fprintln(p.stderr, "petcat: "+printable(text))
	return code
}

const (
	groupRun    = "run"
	groupManage = "manage"
	groupKeep   = "keep"
	groupUse    = "use"
	groupAbout  = "about"
)

// rootCommand returns the whole tree of commands.
func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "petcat",
		Short: "The Pet Category Service, and the tool that manages it",
		Long: `The Pet Category Service, and the tool that manages it.

First steps:
  petcat serve                              run the service on port 8080, with its data in ./data
  petcat account create acme --plan free    in another terminal: create an account
  petcat key create acme                    create its API key, which is shown once

The commands that run the service, and those that manage accounts, keys and data, work on
the data directory of --data or PETCAT_DATA, ./data by default, or on the database of
--database or PETCAT_DATABASE. A flag overrides its environment variable, which overrides
the default; petcat config shows the effective values and where each came from.

Exit codes: 0 success, 1 failure, 2 wrong usage, 65 bad rows in a file, 75 try again
later, 78 bad configuration, 130 an import was interrupted.`,
		Version:           build().Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetFlagErrorFunc(p.flagError)
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run the service:"},
		&cobra.Group{ID: groupManage, Title: "Manage accounts and keys:"},
		&cobra.Group{ID: groupKeep, Title: "Keep and move the data:"},
		&cobra.Group{ID: groupUse, Title: "Use the service, with an API key:"},
		&cobra.Group{ID: groupAbout, Title: "About this program:"},
	)
	root.SetHelpCommand(helpCommand())
	parent(root,
		p.devCommand(),
		p.serveCommand(),
		p.initCommand(),
		p.healthCommand(),
		p.doctorCommand(),
		p.logLevelCommand(),
		p.accountCommand(),
		p.keyCommand(),
		p.banCommand(),
		p.operatorCommand(),
		p.nodeCommand(),
		p.usageCommand(),
		p.auditCommand(),
		p.planCommand(),
		p.backupCommand(),
		p.restoreCommand(),
		p.verifyCommand(),
		p.migrateCommand(),
		p.categoryCommand(),
		p.configCommand(),
		p.completionCommand(),
		p.versionCommand(),
	)
	completeNoFiles(root)
	return root
}

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

// now returns the wall clock's time in UTC.
func (p *program) now() time.Time { return p.clock.Read().Time() }

// actor returns the user who runs this program, for audit entries.
func actor() petcat.Actor {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return petcat.Actor("cli:" + strconv.Itoa(os.Getuid()))
	}
	return petcat.Actor("cli:" + u.Username)
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && f != nil && isatty.IsTerminal(f.Fd())
}

var (
	errNotConfirmed = errors.New("not confirmed, so nothing was changed; answer y, or pass --yes")
	errNobodyToAsk  = usageErrorf("this cannot be undone and needs confirmation; without a terminal, pass --yes")
)

// confirm asks the user before a change that cannot be undone. Without a terminal it cannot
// ask, so --yes is required.
func (p *program) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !p.isTerminal(p.stdin) {
		return errNobodyToAsk
	}
	_, _ = fmt.Fprintf(p.stderr, "%s [y/N] ", printable(question))
	answer, err := readLine(p.stdin)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch answer {
	case "y", "Y", "yes", "Yes", "YES":
		return nil
	default:
		return errNotConfirmed
	}
}
