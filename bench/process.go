package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a server that runs.
type process struct {
	url     string        // without a slash at the end
	readyIn time.Duration // from its start
	cmd     *exec.Cmd
	gone    chan struct{} // closed when it has ended
}

// launch says what to start. What it writes goes to a log in the directory.
type launch struct {
	dir   string
	path  string
	args  []string
	url   string
	user  *syscall.Credential
	ready func() bool
}

const patience = 60 * time.Second // until a server is ready, or has ended

// start starts a server, which ends with the group, and waits until it is ready.
func (b *bench) start(ctx context.Context, l launch) (*process, error) {
	name := filepath.Join(l.dir, filepath.Base(l.path)+".log")
	log, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	p := &process{url: l.url, cmd: exec.CommandContext(ctx, l.path, l.args...), gone: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = l.dir, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: l.user}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGINT) }
	begun := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.gone)
	}()
	b.running = append(b.running, p)
	for !l.ready() {
		select {
		case <-p.gone:
		case <-time.After(time.Millisecond):
			if time.Since(begun) < patience {
				continue
			}
		}
		text, _ := os.ReadFile(name)
		return nil, fmt.Errorf("%s is not ready: %.2000s", l.path, text)
	}
	p.readyIn = time.Since(begun)
	return p, nil
}

// stop ends the process. SIGINT ends PostgreSQL at once, too.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGINT) // it may have gone already
	select {
	case <-p.gone:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.gone
	}
}

// memory returns the resident memory in MiB.
func (p *process) memory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	kib, err := number(`VmRSS:\s+(\d+) kB`)(string(text))
	return kib / 1024, err
}

// freeAddress returns an address on loopback that nobody listens on. Somebody may take it
// before it is used, which then shows as an error of the server.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it takes no time
	if err != nil {
		panic(err) // without loopback nothing can be measured
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// responds reports whether a GET gets a response with this status.
func responds(ctx context.Context, url string, status int) func() bool {
	return func() bool {
		_, err := request{method: "GET", url: url, status: status}.send(ctx)
		return err == nil
	}
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
