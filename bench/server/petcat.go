package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Petcat is petcat's real program, and where its data are.
type Petcat struct {
	Program string
	Data    string // the data directory, of one node
	Dir     string // of logs
	// Database is the URL of the PostgreSQL that several nodes share. It takes the place of
	// the data directory.
	Database string
	// BackupEvery is how often it makes scheduled backups, in Dir; "" for never.
	BackupEvery string
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
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, p.Program, slices.Concat(args, p.place(), []string{"--json"})...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("petcat %v: %w: %s", args, err, stderr.String())
	}
	return out, err
}

// Serve starts petcat as an operator would, with everything on: keys, both
// windows, bans, metrics, and the access log, which goes to a file.
func (p Petcat) Serve(ctx context.Context) (*Server, error) {
	api, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{"serve"}, p.place()...)
	if p.BackupEvery != "" {
		args = append(args, "--backup-every", p.BackupEvery, "--backup-keep", "1", "--backup-dir", filepath.Join(p.Dir, "backups"))
	}
	args = append(args,
		"--listen", api, "--admin-listen", admin,
		"--trusted-proxies", "127.0.0.1", // all load comes from there, also that without a key
		"--log-format", "json", "--log-level", "info", "--bans", "enforce", "--shutdown-timeout", "2s")
	ready := func() bool { return status(ctx, "http://"+admin+"/readyz") == 200 }
	s, err := program{name: "petcat", dir: p.Dir, path: p.Program, args: args, ready: ready}.start(ctx, "http://"+api)
	if err != nil {
		return nil, err
	}
	s.Admin = "http://" + admin
	return s, nil
}
