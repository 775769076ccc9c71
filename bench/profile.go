package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
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
		load := b.wrk(what, n.list())
		if what == "create" {
			load = b.wrk(what, n.create())
		}
		operator, err := b.signIn(ctx, n)
		if err != nil {
			return err
		}
		loaded := make(chan error, 1)
		go func() {
			rate, err := load.measure(ctx, profileTime+2*time.Second)
			say("   %s: %s", what, format(rate, load.unit))
			loaded <- err
		}()
		cpu := fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", profileTime.Seconds())
		err = errors.Join(
			b.download(operator, n.admin+cpu, what+"-cpu.pprof"),
			b.download(operator, n.admin+"/debug/pprof/allocs", what+"-allocs.pprof"),
			<-loaded,
		)
		if err != nil {
			return err
		}
		b.stop()
	}
	return nil
}

// signIn returns a browser in which an operator who may see profiles is signed in.
func (b *bench) signIn(ctx context.Context, n *node) (*http.Client, error) {
	args := append([]string{"operator", "create", "profiler", "--role", "admin", "--console-url", n.admin}, n.place...)
	out, err := exec.CommandContext(ctx, b.program("petcat"), args...).Output()
	if err != nil {
		return nil, err
	}
	_, token, _ := strings.Cut(strings.TrimSpace(string(out)), "#") // at the end of the link
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{Jar: jar}
	response, err := browser.PostForm(n.admin+"/console/sign-in", url.Values{"token": {token}})
	if err != nil {
		return nil, err
	}
	return browser, response.Body.Close()
}

// download writes a profile to a file.
func (b *bench) download(operator *http.Client, url, name string) error {
	response, err := operator.Get(url)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	file := filepath.Join(b.root, "build", name)
	say("   go tool pprof -http : %s", file)
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, body, 0o644))
}
