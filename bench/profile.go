package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// profileTime is how long a CPU is profiled.
const profileTime = 10 * time.Second

// profile writes CPU and allocation profiles of a node under load to petcat's directory build.
func (b *bench) profile(ctx context.Context) error {
	for _, what := range []string{"list", "create"} {
		n, err := b.node(ctx, "profile-"+what, "", few)
		if err != nil {
			return err
		}
		if err := b.signIn(ctx, n); err != nil {
			return err
		}
		load := b.wrk(what, n.list())
		if what == "create" {
			load = b.wrk(what, n.create())
		}
		loaded := make(chan error, 1)
		go func() {
			rate, err := load.measure(ctx, profileTime+2*time.Second)
			say("   %s: %s", what, format(rate, load.unit))
			loaded <- err
		}()
		cpu := fmt.Sprintf("profile?seconds=%.0f", profileTime.Seconds())
		err = errors.Join(
			b.save(ctx, n.admin+"/debug/pprof/"+cpu, what+"-cpu.pprof"),
			b.save(ctx, n.admin+"/debug/pprof/allocs", what+"-allocs.pprof"),
			<-loaded,
		)
		if err != nil {
			return err
		}
		b.stop()
	}
	return nil
}

// signIn signs client in as an operator who may see profiles.
func (b *bench) signIn(ctx context.Context, n *node) (err error) {
	args := append([]string{"operator", "create", "profiler", "--role", "admin", "--console-url", n.admin}, n.place...)
	out, err := exec.CommandContext(ctx, b.program("petcat"), args...).Output()
	if err != nil {
		return err
	}
	if client.Jar, err = cookiejar.New(nil); err != nil {
		return err
	}
	_, token, _ := strings.Cut(strings.TrimSpace(string(out)), "#") // at the end of the link
	_, err = request{
		method: "POST",
		url:    n.admin + "/console/sign-in",
		header: []string{"Content-Type: application/x-www-form-urlencoded"},
		body:   "token=" + token,
		status: 200,
	}.send(ctx)
	return err
}

// save writes a profile to a file.
func (b *bench) save(ctx context.Context, url, name string) error {
	a, err := request{method: "GET", url: url, status: 200}.send(ctx)
	if err != nil {
		return err
	}
	file := filepath.Join(b.root, "build", name)
	say("   go tool pprof -http : %s", file)
	return errors.Join(
		os.MkdirAll(filepath.Dir(file), 0o755), //nolint:gosec // world-readable
		os.WriteFile(file, a.body, 0o644),      //nolint:gosec // world-readable
	)
}
