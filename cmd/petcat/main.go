// Command petcat is the Pet Category Service and its management tool, in one binary.
//
// This package contains only commands and printing. The rules are in package petcat, a running
// node is in internal/server; storage, limits and HTTP are in other internal packages.
// Management commands access the data directory or the database directly, not through a
// running server. So they only need access to the data, not credentials, and running servers
// apply their changes within a second. The commands for categories are clients of the API, and
// need a key.
//
// If a dependency is unavailable, a command prints one sentence with the remedy, and exits with a code
// for the kind of failure: see exit.go.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/representation"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// program has the streams, environment, clock and randomness that all commands share.
type program struct {
	environ        []string // as [os.Environ] returns it
	stdin          io.Reader
	stdout, stderr io.Writer
	printed        bytes.Buffer // for stdout; see flush
	clock          clock.Clock
	random         io.Reader
	// isTerminal reports whether a stream is a terminal.
	isTerminal func(stream any) bool
	started    bool // a command is running; earlier errors are usage errors
}

// run runs the program and returns its exit code. It uses only these streams and this environment.
func run(ctx context.Context, args []string, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{
		environ: environ, stdin: stdin, stdout: stdout, stderr: stderr,
		clock: clock.NewSystem(), random: rand.Reader, isTerminal: isTerminal,
	}
	root := p.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	if !p.started {
		err = usage(err)
	}
	code, text := exitCode(err), explain(err)
	if _, logged := errors.AsType[*loggedError](err); logged {
		return code
	}
	if code == exitUsage {
		text += "; see: " + cmd.CommandPath() + " --help"
	}
	_, _ = fmt.Fprintln(stderr, "petcat: "+printable(text))
	return code
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && f != nil && isatty.IsTerminal(f.Fd())
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

// rootCommand returns the command tree.
func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "petcat",
		Short: "The Pet Category Service and its management tool",
		Long: `The Pet Category Service and its management tool.

First steps:
  petcat serve                              run the service on port 8080, with its data in ./data
  petcat account create acme --plan free    in another terminal: create an account
  petcat key create acme                    create its API key, which is shown once

Commands that run the service, or manage accounts, keys and data, use the data
directory in --data or PETCAT_DATA (by default ./data), or the database in
--database or PETCAT_DATABASE. A flag overrides its environment variable, which
overrides the default. petcat config shows the effective settings and the origin
of each.

Exit codes: 0 success, 1 failure, 2 invalid usage, 65 bad rows in a file, 75 try
again later, 78 invalid configuration, 130 interrupted.`,
		Version:           build().Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd.HasSubCommands() { // the mistake may be an unknown command before the flag
			err = cmp.Or(cmd.ValidateArgs(cmd.Flags().Args()), err)
		}
		return err
	})
	parent(root)
	for _, group := range p.groups() {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID(about)
	root.SetCompletionCommandGroupID(about)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		parent(completion)
	}
	setHelp(root)
	return root
}

// about is the group of the commands that cobra adds.
const about = "About this program:"

// group is a group of commands in the help.
type group struct {
	title    string
	commands []*cobra.Command
}

// groups returns the commands, in the order of the help.
func (p *program) groups() []group {
	return []group{
		{"Run the service:", []*cobra.Command{
			p.devCommand(),
			p.serveCommand(),
			p.initCommand(),
			p.healthCommand(),
			p.doctorCommand(),
			p.logLevelCommand(),
		}},
		{"Manage accounts and keys:", []*cobra.Command{
			p.accountCommand(),
			p.keyCommand(),
			p.banCommand(),
			p.moderateCommand(),
			p.operatorCommand(),
			p.nodeCommand(),
			p.usageCommand(),
			p.auditCommand(),
			p.planCommand(),
			p.planRequestCommand(),
			p.eventCommand(),
			p.webhookCommand(),
		}},
		{"Keep and move the data:", []*cobra.Command{
			p.backupCommand(),
			p.restoreCommand(),
			p.verifyCommand(),
			p.migrateCommand(),
		}},
		{"Use the service, with an API key:", []*cobra.Command{p.categoryCommand()}},
		{about, []*cobra.Command{p.configCommand(), p.versionCommand()}},
	}
}

// Set by the linker: -ldflags "-X main.version=1.2.3 -X main.revision=...". The revision is set for
// releases, which are built without git.
var (
	version  string
	revision string //nolint:gochecknoglobals // the linker sets it
)

// buildInfo is the origin of this binary.
type buildInfo struct{ Version, Revision string } // the revision is "" if unknown

// build returns the values of the linker or, without them, those that the go command recorded.
func build() buildInfo {
	b := buildInfo{version, revision}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	b.Version = cmp.Or(b.Version, strings.Trim(info.Main.Version, "()"), "dev")
	return b
}

func (p *program) versionCommand() *cobra.Command {
	return p.printing(&cobra.Command{
		Use:     "version",
		Short:   "Show the version and build of this program",
		Example: "  petcat version --json",
	}, func(c *call) error {
		b := build()
		return c.show(record{
			kv("version", b.Version),
			kv("revision", representation.OrNull(b.Revision)),
			kv("go", runtime.Version()),
			kv("platform", runtime.GOOS+"/"+runtime.GOARCH),
		})
	})
}
