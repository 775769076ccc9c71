// Package server starts the servers that are compared, and measures what they
// take: processor time and memory. Everything it starts listens on loopback
// alone and is stopped by its process id.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a running program.
type Process struct {
	PID  int
	name string
	log  string // file
	stop syscall.Signal
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
	err  error         // how it ended; valid once gone is closed
}

// Launch says what to start.
type Launch struct {
	Name string
	Dir  string // where its log goes, and its working directory
	Path string
	Args []string
	Env  []string       // beyond this process's own
	Stop syscall.Signal // which ends it in order; 0 for SIGTERM
	User *syscall.Credential
}

// startProcess starts a program. What it writes goes to a file.
func startProcess(ctx context.Context, l Launch) (*Process, error) {
	logFile := filepath.Join(l.Dir, l.Name+".log")
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the child has its own
	cmd := exec.CommandContext(ctx, l.Path, l.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.Dir, out, out
	cmd.Env = append(os.Environ(), l.Env...)
	if l.User != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: l.User}
	}
	if l.Stop == 0 {
		l.Stop = syscall.SIGTERM
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(l.Stop) }
	cmd.WaitDelay = stopTimeout
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", l.Name, err)
	}
	p := &Process{PID: cmd.Process.Pid, name: l.Name, log: logFile, stop: l.Stop, cmd: cmd, gone: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.gone)
	}()
	return p, nil
}

const (
	stopTimeout  = 20 * time.Second
	readyTimeout = 60 * time.Second
)

// Stop ends the program and waits until it has gone.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(p.stop) // it may have gone already
	select {
	case <-p.gone:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.gone
	}
}

// awaitReady asks until ready says yes.
func (p *Process) awaitReady(ctx context.Context, every time.Duration, ready func() bool) error {
	deadline := time.After(readyTimeout)
	for {
		if ready() {
			return nil
		}
		select {
		case <-p.gone:
			return fmt.Errorf("%s ended at once (%w): %s", p.name, errOr(p.err, "exit status 0"), p.logged())
		case <-deadline:
			return fmt.Errorf("%s does not answer after %s: %s", p.name, readyTimeout, p.logged())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(every):
		}
	}
}

func errOr(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}

// logged returns the end of what the program wrote.
func (p *Process) logged() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

// freeAddress returns an address on loopback that nobody listens on. Somebody
// may take it before it is used, which then shows as an error of the server.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
