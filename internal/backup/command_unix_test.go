//go:build !windows

package backup

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// scheduleWith returns a schedule with a command, and a named pipe for its argument.
func scheduleWith(t *testing.T, script string) (s *schedule, pipe string) {
	t.Helper()
	s = newSchedule(t, filled(t, 1))
	pipe = filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	s.Command = filepath.Join(t.TempDir(), "command")
	must(t, os.WriteFile(s.Command, []byte("#!/bin/sh\n"+script), 0o700)) // #nosec G306 -- it is run
	return s, pipe
}

// TestCommandLeavesAProcess: a command that succeeds may leave a process that has its output open, as
// ssh does with ControlPersist.
func TestCommandLeavesAProcess(t *testing.T) {
	s, pipe := scheduleWith(t, `cat "$1" & exit 0`)
	err := s.runCommand(t.Context(), pipe)
	left, openErr := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for cat
	must(t, openErr)
	must(t, left.Close()) // stops it
	if err != nil {
		t.Errorf("the command returned %v", err)
	}
}

// TestKilledCommandLeavesNoProcess: the programs that a command has started are killed with it.
func TestKilledCommandLeavesNoProcess(t *testing.T) {
	s, pipe := scheduleWith(t, `exec 3>"$1"; sleep 3600 & echo started >&3; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.runCommand(ctx, pipe) }()
	file, err := os.Open(pipe)
	must(t, err)
	running := bufio.NewReader(file)
	_, err = running.ReadString('\n')
	must(t, err)
	cancel()
	if err := <-done; err == nil {
		t.Error("a killed command succeeded")
	}
	_, err = io.ReadAll(running) // until the pipe is closed by all
	must(t, err)
	must(t, file.Close())
}
