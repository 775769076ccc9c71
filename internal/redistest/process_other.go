//go:build !unix

package redistest

import (
	"errors"
	"os"
	"os/exec"
)

var errSuspend = errors.New("redistest: this system cannot suspend a process")

func prepare(*exec.Cmd) {}

func kill(p *os.Process) error  { return p.Kill() }
func suspend(*os.Process) error { return errSuspend }
func resume(*os.Process) error  { return errSuspend }
