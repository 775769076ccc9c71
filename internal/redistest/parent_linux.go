package redistest

import "syscall"

// dieWithParent keeps a server from outliving a test that is killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
