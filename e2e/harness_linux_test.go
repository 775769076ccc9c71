package e2e

import "syscall"

// diesWithTest returns attributes that kill a process when the test ends.
func diesWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
