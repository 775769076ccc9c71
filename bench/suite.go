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
	name string
	run  func(*suite, context.Context, string) error
	load bool // needs wrk
	long bool // not in a quick run, unless it is asked for by name
}

// groups are in the order in which they run. Those that change the data that
// several use come last.
func groups() []group {
	return []group{
		{"list", (*suite).list, true, false},
		{"sizes", (*suite).sizes, true, false},
		{"answers", (*suite).answers, true, false},
		{"create", (*suite).creates, true, false},
		{"one", (*suite).oneConnection, true, false},
		{"start", (*suite).start, false, false},
		{"binary", (*suite).binary, false, false},
		{"limiter", (*suite).limiter, false, false},
		{"compression", (*suite).compression, true, false},
		{"nodes-decision", (*suite).nodesDecision, false, true},
		{"nodes-list", (*suite).nodesList, true, false},
		{"nodes-counters", (*suite).nodesCounters, true, false},
		{"nodes-create", (*suite).nodesCreate, true, false},
		{"nodes-three", (*suite).nodesThree, true, true},
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
		var err error
		if absent := s.tools["wrk"].absent; g.load && absent != "" {
			err = errors.New(absent)
		} else {
			err = g.run(s, ctx, g.name)
		}
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

// keep asks petcat once for its answers and puts them where other servers find
// them.
func (s *suite) keep(ctx context.Context, p *server.PetcatServer, bearer, name string) (server.Files, server.Answer, error) {
	dir := filepath.Join(s.work, "answers-"+name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return server.Files{}, server.Answer{}, err
	}
	files := server.FilesIn(dir)
	files.CreateHeader, files.CreateBody = "", ""
	list, err := expect(ctx, 200, "GET", p.URL+listPath, []string{bearer}, nil)
	if err != nil {
		return files, list, err
	}
	return files, list, list.Keep(files.ListHeader, files.ListBody)
}

// expect asks for something and insists on a status.
func expect(ctx context.Context, status int, method, url string, header []string, body []byte) (server.Answer, error) {
	a, err := server.Ask(ctx, method, url, header, body)
	if err == nil && a.Status != status {
		err = fmt.Errorf("%s %s: status %d, want %d: %.200s", method, url, a.Status, status, a.Body)
	}
	return a, err
}
