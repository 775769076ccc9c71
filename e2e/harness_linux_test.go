package e2e

import "syscall"

// diesWithTest makes a process end with the test, however that ends.
func diesWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
