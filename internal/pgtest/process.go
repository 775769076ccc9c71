package pgtest

import (
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// process is the server's main process. PostgreSQL runs a process, in its own process group, for
// each connection.
type process struct {
	pid    int
	exited chan struct{} // closed when Wait has returned
}

// startProcess starts a command that is killed if the test process dies.
func startProcess(cmd *exec.Cmd) (*process, error) {
	started := make(chan error)
	p := &process{exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		// The kernel sends the signal when the thread that started the process exits, so the thread must
		// live as long as the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		dieWithParent(cmd)
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // the caller that stopped it knows why
		}
	}()
	if err := <-started; err != nil {
		<-p.exited
		return nil, err
	}
	return p, nil
}

func (p *process) signalMain(sig syscall.Signal) { _ = kill(p.pid, sig) }

// signal signals the main process and its children, and returns the children.
func (p *process) signal(sig syscall.Signal) (children []int) {
	p.signalMain(sigStop) // otherwise it would replace the lost children
	// Repeat until there are no new children: it may have been starting one.
	for signalled := -1; signalled < len(children); {
		signalled = len(children)
		for _, pid := range childrenOf(p.pid) {
			if !slices.Contains(children, pid) {
				_ = kill(pid, sig)
				children = append(children, pid)
			}
		}
	}
	p.signalMain(sig)
	return children
}

// KillServer kills a server that another program has started. pid is its main process.
func KillServer(pid int) {
	p := &process{pid: pid}
	awaitExit(append(p.signal(syscall.SIGKILL), pid))
}

// awaitExit waits until killed processes have exited. Until then they block the data directory
// for the next server.
func awaitExit(pids []int) {
	for _, pid := range pids {
		for running(pid) {
			time.Sleep(time.Millisecond)
		}
	}
}
