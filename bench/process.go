package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running server.
type process struct {
	url     string        // without a slash at the end
	readyIn time.Duration // from its start
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has exited
}

// launch describes a server to start. Its output goes to a log file in the directory.
type launch struct {
	dir   string
	path  string
	args  []string
	url   string
	user  *syscall.Credential
	ready func() bool
}

const patience = 60 * time.Second // for a server to become ready, or to stop

// start starts a server and waits until it is ready. The server stops at the end of its group.
func (b *bench) start(ctx context.Context, l launch) (*process, error) {
	name := filepath.Join(l.dir, filepath.Base(l.path)+".log")
	log, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	path, args := pinned(b.serverCores, l.path, l.args...)
	p := &process{url: l.url, cmd: exec.CommandContext(ctx, path, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = l.dir, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: l.user}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGINT) }
	begun := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // the log says why it exited
		close(p.done)
	}()
	b.running = append(b.running, p)
	for !l.ready() {
		select {
		case <-p.done:
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

// pinned returns the command that runs a program on some cores, on all if cores is "".
func pinned(cores, path string, args ...string) (string, []string) {
	if cores == "" {
		return path, args
	}
	return "taskset", append([]string{"--cpu-list", cores, path}, args...)
}

// stop stops the process with SIGINT, which PostgreSQL treats as a fast shutdown.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGINT) // it may have exited already
	select {
	case <-p.done:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.done
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

// cpu returns the CPU time that the process has used, 0 if it has exited.
func (p *process) cpu() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	_, fields, _ := strings.Cut(string(text), ") ") // the name is before them
	var sum int64
	for i, field := range strings.Fields(fields) {
		if i == 11 || i == 12 { // of the user and of the system, in hundredths of a second
			n, _ := strconv.ParseInt(field, 10, 64)
			sum += n
		}
	}
	return time.Duration(sum) * time.Second / 100
}

// freeAddress returns an unused loopback address. If another program takes the port first, the
// server fails to start.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		panic(err) // a benchmark needs loopback
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// responds reports whether a GET gets a response with the status 200.
func responds(ctx context.Context, url string) func() bool {
	return func() bool {
		_, err := request{method: "GET", url: url, status: 200}.send(ctx)
		return err == nil
	}
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
