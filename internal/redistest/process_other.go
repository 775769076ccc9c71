//go:build !unix

package redistest

import (
	"errors"
	"os"
)

var errSuspend = errors.New("redistest: this system cannot suspend a process")

func suspend(*os.Process) error { return errSuspend }
func resume(*os.Process) error  { return errSuspend }
