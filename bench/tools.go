package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"petcat/bench/report"
)

// tool is a program that takes part.
type tool struct {
	path    string
	version string
	absent  string // why it could not be had
}

// findTools finds, installs or builds everything. What fails is absent, but
// without petcat and the bare server there is nothing to measure.
func (s *suite) findTools(ctx context.Context) error {
	need := exec.CommandContext(ctx, filepath.Join(s.root, "scripts", "need"), "wrk wrk", "nginx nginx")
	if out, err := need.CombinedOutput(); err != nil {
		s.say("%s", lastLine(string(out)))
	}
	s.tools["postgres"] = findPostgres(ctx)
	for _, t := range []struct {
		name, flag string // which makes it tell its version
		programs   []string
	}{
		{"wrk", "-v", []string{"wrk"}},
		{"nginx", "-v", []string{"nginx"}},
		{"haproxy", "-v", []string{"haproxy"}},
	} {
		s.tools[t.name] = find(ctx, t.flag, t.programs...)
	}
	s.say("== building petcat, the bare server and PocketBase (the first time takes minutes)")
	version := "-s -w -X main.version=" + s.revision(ctx)
	for _, b := range []struct{ name, dir, pkg, ldflags string }{
		{"petcat", s.root, "./cmd/petcat", strings.ReplaceAll(version, ", with changes", "-dirty")},
		{"bare", filepath.Join(s.root, "bench"), "./bare", "-s -w"},
		{"pocketbase", filepath.Join(s.root, "bench"), "./pocketbase", "-s -w"},
	} {
		path, err := s.build(ctx, b.name, b.dir, b.pkg, b.ldflags)
		if err != nil {
			if b.name != "pocketbase" {
				return err
			}
			s.tools[b.name] = tool{absent: "it does not build: " + lastLine(err.Error())}
			continue
		}
		s.tools[b.name] = tool{path: path, version: s.builtVersion(b.name, path)}
	}
	return nil
}

// build builds a program of Go without cgo.
func (s *suite) build(ctx context.Context, name, dir, pkg, ldflags string, more ...string) (path string, err error) {
	path = filepath.Join(s.work, name+"-program")
	args := slices.Concat([]string{"build", "-trimpath", "-ldflags", ldflags, "-o", path}, more, []string{pkg})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, out)
	}
	return path, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// builtVersion tells what a program of Go was built from.
func (s *suite) builtVersion(name, path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	if name == "pocketbase" {
		for _, d := range info.Deps {
			if d.Path == "github.com/pocketbase/pocketbase" {
				return d.Version + ", built with " + info.GoVersion
			}
		}
	}
	return s.result.Revision + ", built with " + info.GoVersion
}

// find finds the first of some programs that do the same. Servers are where a
// user's PATH may not lead.
func find(ctx context.Context, flag string, programs ...string) tool {
	for _, name := range programs {
		for _, name := range []string{name, "/usr/sbin/" + name} {
			path, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			// wrk tells its version and fails.
			out, _ := exec.CommandContext(ctx, path, flag).CombinedOutput()
			line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			line, _, _ = strings.Cut(line, " Copyright")
			line, _, _ = strings.Cut(line, " - https://")
			return tool{path: path, version: strings.TrimPrefix(line, "nginx version: ")}
		}
	}
	return tool{absent: "not installed; as root on Debian, scripts/need installs it"}
}

// findPostgres finds the newest PostgreSQL. Debian keeps its programs out of PATH, by
// version.
func findPostgres(ctx context.Context) tool {
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is right
	slices.Reverse(installed)
	return find(ctx, "--version", append(installed, "postgres")...)
}

// programs lists what took part, for the report.
func (s *suite) programs() []report.Peer {
	var peers []report.Peer
	for _, name := range []string{"petcat", "bare", "nginx", "haproxy", "pocketbase", "wrk", "postgres"} {
		t := s.tools[name]
		peers = append(peers, report.Peer{Name: name, Version: t.version, Absent: t.absent})
	}
	return peers
}
