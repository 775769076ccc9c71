package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"petcat/bench/report"
)

// tool is a program that takes part.
type tool struct {
	path    string
	version string
	absent  string // why it could not be had
}

// packaged are the programs that come from Debian, with the flag that makes
// them tell their version.
func packaged() map[string]string {
	return map[string]string{"wrk": "-v", "nginx": "-v", "haproxy": "-v"}
}

// findTools finds, installs or builds everything. What fails is absent, but
// without petcat and the bare server there is nothing to measure.
func (s *suite) findTools(ctx context.Context) error {
	s.installMissing(ctx)
	for name, flag := range packaged() {
		s.tools[name] = findPackaged(ctx, name, flag)
	}
	s.findServers(ctx)
	s.say("== building petcat, the bare server and PocketBase (the first time takes minutes)")
	version := "-s -w -X main.version=" + s.revision(ctx)
	for _, b := range []struct{ name, dir, pkg, ldflags string }{
		{"petcat", s.root, "./cmd/petcat", strings.ReplaceAll(version, ", with changes", "-dirty")},
		{"bare", filepath.Join(s.root, "bench"), "./bare", "-s -w"},
		{"pocketbase", filepath.Join(s.root, "bench"), "./pocketbase", "-s -w"},
	} {
		path := filepath.Join(s.work, b.name+"-program")
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", b.ldflags, "-o", path, b.pkg)
		cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			if b.name != "pocketbase" {
				return fmt.Errorf("build %s: %w: %s", b.name, err, out)
			}
			s.tools[b.name] = tool{absent: "it does not build: " + firstLine(errors.New(lastLine(string(out))))}
			continue
		}
		s.tools[b.name] = tool{path: path, version: s.builtVersion(b.name, path)}
	}
	return nil
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

// look finds a program; servers are where a user's PATH may not lead.
func look(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/" + name)
}

func findPackaged(ctx context.Context, name, flag string) tool {
	path, err := look(name)
	if err != nil {
		return tool{absent: "not installed; on Debian: apt-get install " + name}
	}
	// wrk tells its version and fails.
	out, _ := exec.CommandContext(ctx, path, flag).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	line, _, _ = strings.Cut(line, " Copyright")
	line, _, _ = strings.Cut(line, " - https://")
	return tool{path: path, version: strings.TrimPrefix(line, "nginx version: ")}
}

// installMissing installs what Debian has, where this is Debian and we may.
func (s *suite) installMissing(ctx context.Context) {
	var missing []string
	for name := range packaged() {
		if _, err := look(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	_, err := exec.LookPath("apt-get")
	if os.Geteuid() != 0 || err != nil {
		s.say("not installed: %s; on Debian, as root: apt-get install %[1]s", strings.Join(missing, " "))
		return
	}
	s.say("== installing %s", strings.Join(missing, ", "))
	unblock := keepServicesDown()
	defer unblock()
	for _, args := range [][]string{{"update"}, append([]string{"install", "-y", "--no-install-recommends"}, missing...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			s.say("apt-get %s: %v: %s", strings.Join(args, " "), err, lastLine(string(out)))
		}
	}
}

// keepServicesDown makes Debian not start what it installs: the servers are
// wanted as programs, not as services of this machine. It returns how to undo it.
func keepServicesDown() (undo func()) {
	const policy = "/usr/sbin/policy-rc.d"
	file, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // a script of the system's
	if err != nil {
		return func() {} // there is a policy already
	}
	_, err = file.WriteString("#!/bin/sh\nexit 101\n")
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(policy)
		return func() {}
	}
	return func() { _ = os.Remove(policy) }
}

// programs lists what took part, for the report.
func (s *suite) programs() []report.Peer {
	var peers []report.Peer
	for _, name := range []string{"petcat", "bare", "nginx", "haproxy", "pocketbase", "wrk", "postgres", "redis", "redis-benchmark"} {
		t := s.tools[name]
		peers = append(peers, report.Peer{Name: name, Version: t.version, Absent: t.absent})
	}
	return peers
}
