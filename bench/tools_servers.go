package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"petcat/bench/server"
)

// findServers finds what several nodes share: PostgreSQL and Redis, or Valkey.
// They come the way in which petcat's tests get them.
func (s *suite) findServers(ctx context.Context) {
	if s.only != nil && !s.wantsServers() {
		return
	}
	if out, err := exec.CommandContext(ctx, filepath.Join(s.root, "scripts", "need-servers")).CombinedOutput(); err != nil {
		s.say("%s", lastLine(string(out)))
	}
	dir, err := server.PostgresPrograms()
	if err != nil {
		s.tools["postgres"] = tool{absent: err.Error()}
	} else {
		s.tools["postgres"] = toolAt(ctx, filepath.Join(dir, "postgres"), "--version")
	}
	s.tools["redis"] = firstOf(ctx, "redis-server", "valkey-server")
	s.tools["redis-benchmark"] = firstOf(ctx, "redis-benchmark", "valkey-benchmark")
}

// wantsServers reports whether a group is to run in which several nodes take part.
func (s *suite) wantsServers() bool {
	return slices.ContainsFunc(groups(), func(g group) bool { return strings.HasPrefix(g.name, "nodes-") && s.wants(g.name) })
}

// firstOf finds the first of some programs that do the same.
func firstOf(ctx context.Context, names ...string) tool {
	for _, name := range names {
		if path, err := look(name); err == nil {
			return toolAt(ctx, path, "--version")
		}
	}
	return tool{absent: "not installed; on Debian: apt-get install redis-server"}
}

func toolAt(ctx context.Context, path, flag string) tool {
	out, err := exec.CommandContext(ctx, path, flag).CombinedOutput()
	if err != nil {
		return tool{absent: "it does not tell its version: " + err.Error()}
	}
	return tool{path: path, version: lastLine(string(out))}
}
