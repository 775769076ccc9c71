// Package server starts the servers that are compared, and measures their processor
// time and memory. Everything that it starts listens only on loopback and is stopped
// by its process id.
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

	"github.com/prometheus/procfs"
)

// Server is a running program that answers at a URL.
type Server struct {
	URL     string        // without a slash at the end
	Admin   string        // of petcat: the URL of the admin listener
	Token   string        // of PocketBase: of a user, who may list and create
	ReadyIn time.Duration // from its start until it was ready

	program
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
	err  error         // how it ended; valid once gone is closed
}

// program says what to start.
type program struct {
	name string
	dir  string // where its log goes, and its working directory
	path string
	args []string
	env  []string       // beyond this process's own
	stop syscall.Signal // which ends it in order; 0 for SIGTERM
	user *syscall.Credential
	// ready reports whether it is; nil for any answer to GET / at its URL.
	ready func() bool
	// remove is a directory that goes with it; "" for none.
	remove string
}

const (
	stopTimeout  = 20 * time.Second
	readyTimeout = 60 * time.Second
)

// start starts a program, and waits until it is ready. What it writes goes to a
// file.
func (p program) start(ctx context.Context, url string) (*Server, error) {
	out, err := os.OpenFile(p.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the child has its own
	if p.stop == 0 {
		p.stop = syscall.SIGTERM
	}
	if p.ready == nil {
		p.ready = func() bool { return status(ctx, url+"/") != 0 }
	}
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, out, out
	cmd.Env = append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	cmd.Cancel = func() error { return cmd.Process.Signal(p.stop) }
	cmd.WaitDelay = stopTimeout
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	s := &Server{URL: url, program: p, cmd: cmd, gone: make(chan struct{})}
	go func() {
		s.err = cmd.Wait()
		close(s.gone)
	}()
	if err := s.await(ctx, p.ready); err != nil {
		s.Stop()
		return nil, err
	}
	s.ReadyIn = time.Since(begun)
	return s, nil
}

// Stop ends the program and waits until it has gone.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(s.stop) // it may have gone already
	select {
	case <-s.gone:
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-s.gone
	}
	if s.remove != "" {
		_ = os.RemoveAll(s.remove) // what is left is in the directory of temporary files
	}
}

// await asks each millisecond until ready says yes.
func (s *Server) await(ctx context.Context, ready func() bool) error {
	deadline := time.After(readyTimeout)
	for !ready() {
		select {
		case <-s.gone:
			return fmt.Errorf("%s ended at once (%s): %s", s.name, s.cmd.ProcessState, s.logged())
		case <-deadline:
			return fmt.Errorf("%s does not answer after %s: %s", s.name, readyTimeout, s.logged())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

func (p program) log() string { return filepath.Join(p.dir, p.name+".log") }

// logged returns the end of what the program wrote.
func (p program) logged() string {
	text, err := os.ReadFile(p.log())
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

// portOf returns the port of an address or a URL without a path.
func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// Usage is what a process and its children have taken so far.
type Usage struct {
	CPU     time.Duration // user and system
	Memory  uint64        // resident bytes
	PeakMem uint64        // the most that was ever resident, in bytes
}

// Usage reads /proc. The workers of a server that has them are its children.
func (s *Server) Usage() (Usage, error) { return usageOf(s.cmd.Process.Pid) }

func usageOf(pid int) (Usage, error) {
	var total Usage
	processes, err := procfs.AllProcs()
	if err != nil {
		return total, err
	}
	for _, p := range processes {
		stat, err := p.Stat()
		if err == nil && p.PID != pid && stat.PPID != pid {
			continue
		}
		status, err1 := p.NewStatus()
		if err := errors.Join(err, err1); err != nil {
			if p.PID == pid {
				return total, err
			}
			continue // it has just gone
		}
		total.CPU += time.Duration(stat.CPUTime() * float64(time.Second))
		total.Memory += status.VmRSS
		total.PeakMem += status.VmHWM
	}
	if total.Memory == 0 {
		return total, fmt.Errorf("process %d is not there", pid)
	}
	return total, nil
}
