// Command bench compares petcat with what its users would otherwise choose, and with
// the minimum that the same response can cost. README.md tells how, and how to read
// what it prints.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"petcat/bench/plot"
	"petcat/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	only     *regexp.Regexp // nil for everything
	rounds   int
	duration time.Duration
	quick    bool
	out      string
	root     string // of petcat's source
	dir      string // for databases
}

func parse(args []string, stderr io.Writer) (o options, draw string, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "run the groups that match this `regexp`: "+groupNames())
	flags.IntVar(&o.rounds, "rounds", 5, "rounds of each measurement; the median counts")
	flags.DurationVar(&o.duration, "duration", 3*time.Second, "length of a round, in whole seconds")
	flags.BoolVar(&o.quick, "quick", false, "two rounds of one second: shows that everything works, in two minutes")
	flags.StringVar(&o.out, "out", "", "`directory` of the results (default: results; of a quick or partial run, results/scratch)")
	flags.StringVar(&o.root, "root", "..", "`directory` of petcat's source")
	flags.StringVar(&o.dir, "dir", "", "`directory` for databases, on the disk that is to be measured (default: the one for temporary files)")
	flags.StringVar(&draw, "draw", "", "measure nothing, draw the plots again from this `file` of results")
	if err := flags.Parse(args); err != nil {
		return o, "", err
	}
	if flags.NArg() > 0 {
		return o, "", fmt.Errorf("there is nothing to do with %q", flags.Args())
	}
	if o.quick {
		o.rounds, o.duration = 2, time.Second
	}
	if o.rounds < 1 || o.duration < time.Second {
		return o, "", errors.New("at least one round of at least one second is needed")
	}
	if *only != "" {
		if o.only, err = regexp.Compile(*only); err != nil {
			return o, "", fmt.Errorf("-only: %w", err)
		}
		if !slices.ContainsFunc(groups(), func(g group) bool { return o.only.MatchString(g.name) }) {
			return o, "", fmt.Errorf("-only %s names no group; there are %s", *only, groupNames())
		}
	}
	if o.out == "" {
		o.out = "results"
		if o.quick || o.only != nil {
			o.out = filepath.Join("results", "scratch")
		}
	}
	return o, draw, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, draw, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if draw != "" {
		result, err := report.Read(draw)
		if err != nil {
			return err
		}
		return plot.Draw(result, filepath.Dir(draw))
	}
	s, err := newSuite(ctx, o, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	failed := s.runGroups(ctx)
	if ctx.Err() != nil {
		return errors.New("stopped; nothing was written")
	}
	s.result.Programs = s.programs()
	if _, err := io.WriteString(stdout, s.result.Table()); err != nil {
		return err
	}
	if err := s.result.Write(o.out, s.result.Date); err != nil {
		return err
	}
	if err := plot.Draw(s.result, o.out); err != nil {
		return err
	}
	s.say("wrote %s and the plots beside it", filepath.Join(o.out, s.result.Date+".md"))
	return failed
}
