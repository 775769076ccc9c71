package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// programs builds the program for each platform.
func (r *release) programs(ctx context.Context) error {
	for _, p := range r.platforms {
		if err := r.build(ctx, p, r.program(p)); err != nil {
			return err
		}
	}
	return nil
}

// build builds the program as make build does, but for what the go command would read
// from git: that depends on the tags of a clone.
func (r *release) build(ctx context.Context, p platform, file string) error {
	flags := "-s -w -X main.version=" + r.version + " -X main.revision=" + r.revision
	return r.goes(ctx, []string{"CGO_ENABLED=0", "GOOS=" + p.system, "GOARCH=" + p.architecture},
		"build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", file, "./cmd/petcat")
}

// goes runs the go command in the repository. No flag of whoever runs it takes part.
func (r *release) goes(ctx context.Context, environment []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	cmd.Env = append(cmd.Env, environment...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// documents makes what the commands say of themselves: man pages, and completions for
// each shell.
func (r *release) documents(ctx context.Context) error {
	pages := filepath.Join(r.stage, "man")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return err
	}
	err := r.goes(ctx, []string{"SOURCE_DATE_EPOCH=" + epoch(r.when), "TZ=UTC"},
		"test", "./cmd/petcat", "-run", "^TestManPages$", "-count=1", "-args", "-man", pages, "-man-version", r.version)
	if err != nil {
		return err
	}
	own := filepath.Join(r.stage, "own")
	if err := r.build(ctx, platform{runtime.GOOS, runtime.GOARCH}, own); err != nil {
		return err
	}
	folder := filepath.Join(r.stage, "completions")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "petcat.bash", "zsh": "_petcat", "fish": "petcat.fish", "powershell": "petcat.ps1"} {
		script, err := output(ctx, r.root, own, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.TrimSpace(script)+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}
