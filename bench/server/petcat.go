package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// Petcat is petcat's real program, and where its data are.
type Petcat struct {
	Program string
	Data    string // the data directory, of one node
	Dir     string // of logs
	// Database and Limiter are the URLs of what several nodes share: PostgreSQL
	// and Redis. They take the place of the data directory.
	Database, Limiter string
}

// place are the flags that say where the data are.
func (p Petcat) place() []string {
	if p.Database != "" {
		return []string{"--database", p.Database}
	}
	return []string{"--data", p.Data}
}

// Unlimited are quotas that no measurement reaches.
const Unlimited = "1000000000000"

// CreateKey makes an account with a quota for the minute and the day, and the
// deployment when there is none, and returns its key.
func (p Petcat) CreateKey(ctx context.Context, account, quota string) (key string, err error) {
	if _, err := p.run(ctx, "init"); err != nil {
		return "", err
	}
	if _, err := p.run(ctx, "account", "create", account, "--plan", "enterprise", "--per-minute", quota, "--per-day", quota); err != nil {
		return "", err
	}
	out, err := p.run(ctx, "key", "create", account)
	if err != nil {
		return "", err
	}
	var made struct{ Key string }
	if err := json.Unmarshal(out, &made); err != nil {
		return "", fmt.Errorf("petcat key create: %w: %s", err, out)
	}
	return made.Key, nil
}

func (p Petcat) run(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, p.Program, slices.Concat(args, p.place(), []string{"--json"})...).Output()
	if err != nil {
		return nil, fmt.Errorf("petcat %v: %w: %s", args, err, stderrOf(err))
	}
	return out, nil
}

func stderrOf(err error) string {
	if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // what Output returns is not wrapped
		return string(e.Stderr)
	}
	return ""
}

// PetcatServer is petcat, serving.
type PetcatServer struct {
	Server
	Admin string        // the URL of the admin listener
	Ready time.Duration // from its start until it was ready
}

// Serve starts petcat as an operator would, with everything on: keys, both
// windows, bans, metrics, and the access log, which goes to a file.
func (p Petcat) Serve(ctx context.Context) (*PetcatServer, error) {
	api, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{"serve"}, p.place()...)
	if p.Limiter != "" {
		args = append(args, "--limiter", p.Limiter)
	}
	begun := time.Now()
	process, err := startProcess(ctx, Launch{
		Name: "petcat", Dir: p.Dir, Path: p.Program,
		Args: append(args,
			"--listen", api, "--admin-listen", admin,
			"--trusted-proxies", "127.0.0.1", // all load comes from there, also that without a key
			"--log-format", "json", "--log-level", "info", "--bans", "enforce", "--shutdown-timeout", "2s"),
	})
	if err != nil {
		return nil, err
	}
	s := &PetcatServer{Server: Server{Process: process, Name: "petcat", URL: "http://" + api}, Admin: "http://" + admin}
	onAdmin := Server{URL: s.Admin}
	// petcat listens before it is ready, so the first request that is not refused
	// waits just as long as petcat needs.
	err = process.awaitReady(ctx, time.Millisecond, func() bool {
		status, _ := onAdmin.get(ctx, "/readyz")
		return status == 200
	})
	if err != nil {
		process.Stop()
		return nil, err
	}
	s.Ready = time.Since(begun)
	return s, nil
}
