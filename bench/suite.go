package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"petcat/bench/report"
	"petcat/bench/seed"
	"petcat/bench/server"
)

// suite is one run.
type suite struct {
	options
	stderr io.Writer
	work   string            // temporary directory
	tools  map[string]tool   // by name
	data   map[int]*prepared // by the number of categories
	result report.Result
}

// group is a set of measurements that share servers.
type group struct {
	name  string
	run   func(*suite, context.Context, string) error
	needs []string // tools; what is missing is reported in its place
	long  bool     // not in a quick run, unless it is asked for by name
}

// groups are in the order in which they run. Those that change the data that
// several use come last.
func groups() []group {
	load := []string{"wrk"}
	nodes := []string{"wrk", "postgres"}
	return []group{
		{"list", (*suite).list, load, false},
		{"sizes", (*suite).sizes, load, false},
		{"answers", (*suite).answers, load, false},
		{"create", (*suite).creates, load, false},
		{"create-many", (*suite).createsIntoMany, load, true},
		{"one", (*suite).oneConnection, load, false},
		{"start", (*suite).start, nil, false},
		{"binary", (*suite).binary, nil, false},
		{"limiter", (*suite).limiter, nil, false},
		{"compression", (*suite).compression, load, false},
		{"nodes-list", (*suite).nodesList, nodes, false},
		{"nodes-create", (*suite).nodesCreate, nodes, false},
		{"nodes-three", (*suite).nodesThree, append(nodes, "haproxy"), true},
		{"history", (*suite).history, load, false},
		{"backup", (*suite).backups, load, false},
		{"overload", (*suite).overload, []string{"postgres"}, false},
	}
}

func groupNames() string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return strings.Join(names, ", ")
}

func newSuite(ctx context.Context, o options, stderr io.Writer) (_ *suite, err error) {
	s := &suite{options: o, stderr: stderr, tools: map[string]tool{}, data: map[int]*prepared{}}
	if s.root, err = filepath.Abs(o.root); err != nil {
		return nil, err
	}
	if s.work, err = os.MkdirTemp(o.dir, "petcat-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.close()
		}
	}()
	machine, err := report.ThisMachine(s.work)
	if err != nil {
		return nil, err
	}
	if machine.FileSystem == "tmpfs" {
		return nil, fmt.Errorf("%s is in memory, so nothing would be measured of the disk; name a directory on one with -dir", filepath.Dir(s.work))
	}
	s.result = report.Result{
		Date: time.Now().Format(time.DateOnly), Revision: s.revision(ctx), Quick: o.quick, Machine: machine,
		Settings: report.Settings{Rounds: o.rounds, Seconds: int(o.duration.Seconds())},
	}
	return s, s.findTools(ctx)
}

func (s *suite) close() error { return os.RemoveAll(s.work) }

func (s *suite) say(format string, args ...any) { _, _ = fmt.Fprintf(s.stderr, format+"\n", args...) }

// revision names the source that is measured.
func (s *suite) revision(ctx context.Context) string {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", s.root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changes, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || changes != "" {
		commit += ", with changes"
	}
	return commit
}

// runGroups runs what was asked for. A group that fails does not keep the others
// from running: its failure becomes a row, and an error in the end.
func (s *suite) runGroups(ctx context.Context) error {
	var failed []error
	for _, g := range groups() {
		if !s.wants(g.name) {
			continue
		}
		if g.long && s.quick && s.only == nil {
			s.say("== %s: left out of a quick run; it runs with -only %[1]s", g.name)
			continue
		}
		s.say("== %s", g.name)
		if absent := s.absent(g.needs); absent != "" {
			s.add(report.Missing(g.name, "group "+g.name, "", "", absent))
			failed = append(failed, fmt.Errorf("%s: %s", g.name, absent))
			continue
		}
		err := g.run(s, ctx, g.name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", g.name, err))
			s.add(report.Missing(g.name, "group "+g.name, "", "", "it failed: "+firstLine(err)))
		}
	}
	return errors.Join(failed...)
}

// absent says which of some tools is missing, and why; "" when none is.
func (s *suite) absent(names []string) string {
	for _, name := range names {
		if why := s.tools[name].absent; why != "" {
			return name + ": " + why
		}
	}
	return ""
}

// wants reports whether a group is to run.
func (s *suite) wants(group string) bool { return s.only == nil || s.only.MatchString(group) }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func (s *suite) add(rows ...report.Row) { s.result.Rows = append(s.result.Rows, rows...) }

// prepared is a data directory of petcat's, with an account that no quota stops.
type prepared struct {
	server.Petcat
	key string
}

// bearer returns the header that shows the key.
func (p prepared) bearer() string { return "Authorization: Bearer " + p.key }

// fresh makes a data directory without categories.
func (s *suite) fresh(ctx context.Context, name string) (*prepared, error) {
	dir := filepath.Join(s.work, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &prepared{Petcat: server.Petcat{Program: s.tools["petcat"].path, Data: filepath.Join(dir, "data"), Dir: dir}}
	var err error
	p.key, err = p.CreateKey(ctx, "bench", server.Unlimited)
	return p, err
}

// with returns the data directory with so many categories.
func (s *suite) with(ctx context.Context, categories int) (*prepared, error) {
	if p := s.data[categories]; p != nil {
		return p, nil
	}
	p, err := s.fresh(ctx, fmt.Sprintf("with-%d", categories))
	if err != nil {
		return nil, err
	}
	if err := seed.Categories(ctx, p.Data, categories); err != nil {
		return nil, err
	}
	s.data[categories] = p
	return p, nil
}

const listPath = "/v1/categories"

// expect asks for something and insists on a status.
func expect(ctx context.Context, status int, method, url string, header []string, body []byte) (server.Answer, error) {
	a, err := server.Ask(ctx, method, url, header, body)
	if err == nil && a.Status != status {
		err = fmt.Errorf("%s %s: status %d, want %d: %.200s", method, url, a.Status, status, a.Body)
	}
	return a, err
}
