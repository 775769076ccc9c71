// Command bench compares petcat with the smallest programs that do the same, and with PocketBase. README.md explains how to run it and how to read its output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "load" { // see attack
		if err := load(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	quick    bool
	rounds   int
	duration time.Duration // of each round, a whole number of seconds
	root     string        // root of petcat's source
	work     string        // directory for databases, programs and logs
	revision string
	report   report
	running  []*process // of the group
	halves   [2]string  // the cores of the loader and of the servers, as taskset reads them

	// The cores and TLS of the next servers and loaders; "" for all cores and plain HTTP.
	loaderCores, serverCores string
	certificate              string // file
}

// group is a set of measurements that share servers.
type group struct {
	name string
	run  func(*bench, context.Context) error
}

var groups = []group{
	{"list", (*bench).list},
	{"sizes", (*bench).sizes},
	{"create", (*bench).create},
	{"mirror", (*bench).mirror},
	{"latency", (*bench).latencyHTTP1},
	{"latency-tls", (*bench).latencyTLS},
	{"latency-http2", (*bench).latencyHTTP2},
	{"decisions", (*bench).decisions},
	{"nodes-list", (*bench).nodesList},
	{"nodes-create", (*bench).nodesCreate},
	{"snapshot", (*bench).snapshot},
	{"start", (*bench).starts},
	{"binary", (*bench).binary},
	{"profile", (*bench).profile},
}

func groupNames() string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.name
	}
	return strings.Join(names, ", ")
}

func run(ctx context.Context) (err error) {
	b := &bench{rounds: 5, duration: 3 * time.Second, halves: halves()}
	only := flag.String("only", "", "run only one `group`: "+groupNames())
	flag.BoolVar(&b.quick, "quick", false,
		"run two one-second rounds with a tenth of the data: a smoke test, the numbers are noise")
	flag.Parse()
	selected := groups[:len(groups)-1] // without profile
	if *only != "" {
		selected = slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return g.name != *only })
	}
	if len(selected) == 0 || flag.NArg() > 0 {
		return errors.New("unknown group or argument; -only accepts one of " + groupNames())
	}
	if b.quick {
		b.rounds, b.duration = 2, time.Second
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()

	failed := b.runGroups(ctx, selected)
	if ctx.Err() != nil {
		return errors.New("interrupted; no results were written")
	}
	fmt.Print(b.report.table(), "\n", b.report.latencyTable())
	dir := "results"
	if b.quick || *only != "" {
		dir = filepath.Join(dir, "scratch")
	}
	return errors.Join(failed, b.write(ctx, dir))
}

// runGroups runs all groups even if some fail. A failed group becomes a row of the report, and
// its error is returned at the end.
func (b *bench) runGroups(ctx context.Context, selected []group) error {
	var failed []error
	for _, g := range selected {
		say("== %s", g.name)
		err := g.run(b, ctx)
		b.stop()
		if err != nil {
			say("   failed: %v", err)
			failed = append(failed, fmt.Errorf("%s: %w", g.name, err))
			b.report.rows = append(b.report.rows, row{what: "group " + g.name, failed: true})
		}
	}
	return errors.Join(failed...)
}

// stop stops all servers of the group.
func (b *bench) stop() {
	for _, p := range slices.Backward(b.running) {
		p.stop()
	}
	b.running = nil
}

// prepare installs missing tools if it has the permissions, and builds the programs.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.root, err = filepath.Abs(".."); err != nil {
		return err
	}
	need := filepath.Join(b.root, "scripts", "need")
	if out, err := exec.CommandContext(ctx, need, "wrk wrk", "taskset util-linux", "postgresql").CombinedOutput(); err != nil {
		return fmt.Errorf("%s", strings.TrimSpace(string(out)))
	}
	if b.work, err = os.MkdirTemp("", "petcat-bench-"); err != nil {
		return err
	}
	// If this process is root, PostgreSQL runs as another user, in a subdirectory.
	if err := os.Chmod(b.work, 0o711); err != nil { //nolint:gosec // see above
		return err
	}
	// The output is empty outside a Git repository.
	revision, _ := exec.CommandContext(ctx, "git", "-C", b.root, "describe", "--always", "--dirty").Output()
	b.revision = strings.TrimSpace(string(revision))
	say("== building petcat, the smallest program and PocketBase (takes minutes the first time)")
	for name, dir := range map[string]string{
		"petcat":     "cmd/petcat",
		"smallest":   "bench/smallest",
		"pocketbase": "bench/pocketbase",
	} {
		cmd := exec.CommandContext(ctx, "go", "build",
			"-trimpath",
			"-ldflags", "-s -w -X main.version="+b.revision,
			"-o", b.program(name),
			".",
		)
		cmd.Dir = filepath.Join(b.root, dir)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.Join(fmt.Errorf("build %s: %w: %s", name, err, out), os.RemoveAll(b.work))
		}
	}
	return nil
}

// program returns the path of a built program.
func (b *bench) program(name string) string { return filepath.Join(b.work, name+"-program") }

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
