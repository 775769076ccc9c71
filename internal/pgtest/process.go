package pgtest

import (
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// process is the server's main process. Each of its connections has a process
// and, in PostgreSQL, a group of its own.
type process struct {
	pid   int
	ended chan struct{} // closed when it was waited for
}

// startProcess starts a command that dies with the test.
func startProcess(cmd *exec.Cmd) (*process, error) {
	started := make(chan error)
	p := &process{ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		// The kernel sends the signal when the thread ends that started the
		// process, so the thread is kept.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		dieWithParent(cmd)
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is known to whoever ended it
		}
	}()
	if err := <-started; err != nil {
		<-p.ended
		return nil, err
	}
	return p, nil
}

func (p *process) signalMain(sig syscall.Signal) { _ = kill(p.pid, sig) }

// signal reaches the main process and its children, which it returns.
func (p *process) signal(sig syscall.Signal) (children []int) {
	p.signalMain(sigStop) // it would start new children in the place of lost ones
	// It may have been about to start one.
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

// KillServer ends a server that another program has started, by the number of its main
// process, at once.
func KillServer(pid int) {
	p := &process{pid: pid}
	awaitEnd(append(p.signal(syscall.SIGKILL), pid))
}

// awaitEnd waits until killed processes are gone: they hold the data that the
// next server is to open.
func awaitEnd(pids []int) {
	for _, pid := range pids {
		for running(pid) {
			time.Sleep(time.Millisecond)
		}
	}
}
