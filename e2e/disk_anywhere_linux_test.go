package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"petcat/internal/disktest"
)

// documented are the exit codes of a server whose disk fails in some way.
var documented = map[syscall.Errno][]int{
	syscall.EIO:    {exitDone, exitTryLater},
	syscall.ENOSPC: {exitDone, exitTryLater},
	syscall.EROFS:  {exitDone, exitTryLater, exitConfig},
}

// diskErrors are what an operation fails with.
var diskErrors = []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EROFS}

// allCuts is how many power cuts ask for every operation to fail; fewer ask for some.
const allCuts = 240

// TestDiskErrorsAnywhere lets one operation after the other of a server's life fail with
// each error, or all from that one on: from its start over its creates to its end. Then the
// power is cut. What was answered with 201 must be there, and the exit code one that the
// documents name. Its short form tries some operations with one error each, in turn.
func TestDiskErrorsAnywhere(t *testing.T) {
	t.Parallel()
	p := newPowercut(t)
	data := filepath.Join(p.dir, "data")
	p.key = newCaller(t, data)
	p.eject()
	fresh, all := p.disk.Clone(), p.long()
	last, _ := p.lifeWith(data, fresh, 0, 0)
	tried, failed := 0, make(map[syscall.Errno]int)
	for at := int64(p.step()); at <= last && !t.Failed(); at += int64(p.step()) {
		errnos := diskErrors
		if !all {
			errnos = diskErrors[tried%len(diskErrors):][:1]
		}
		for _, errno := range errnos {
			tried++
			if _, hit := p.lifeWith(data, fresh, at, errno); hit {
				failed[errno]++
			}
		}
	}
	t.Logf("of %d operations, %v failed in %d tries", last, failed, tried)
	// The last ones may not come: how many there are depends on how creates are grouped.
	for _, errno := range diskErrors {
		if all && failed[errno] < int(last)*9/10 || failed[errno] == 0 {
			t.Errorf("%v: of %d operations, %d failed", errno, last, failed[errno])
		}
	}
}

// TestDiskErrorsAnywhereInCommands lets one operation after the other of migrate, restore and
// backup fail with one of the errors in turn, or all from that one on. Then the power is cut.
// What the command said that it did is there; else nothing is lost, and it can be repeated. Its
// short form tries some of the operations.
func TestDiskErrorsAnywhereInCommands(t *testing.T) {
	t.Parallel()
	p := newPowercut(t)
	data := filepath.Join(p.dir, "data")
	p.prepare(data)
	tried, failed := 0, make(map[syscall.Errno]int)
	for _, j := range p.jobs(data)[1:] { // init does what the start of a server does
		missed := 0 // by as many errors in turn when the command has no more operations
		for at := int64(p.step()); missed < len(diskErrors) && !t.Failed(); at += int64(p.step()) {
			errno := diskErrors[tried%len(diskErrors)]
			tried++
			missed++
			if p.commandWith(j, filepath.Join(p.dir, fmt.Sprint("try ", tried)), at, errno) {
				failed[errno]++
				missed = 0
			}
		}
	}
	t.Logf("%v failed in %d tries", failed, tried)
	for _, errno := range diskErrors {
		if failed[errno] == 0 {
			t.Errorf("no operation failed with %v", errno)
		}
	}
}

// commandWith runs a command of which one operation fails, and checks what is there after a
// power cut. It reports whether one failed.
func (p *powercut) commandWith(j job, own string, at int64, errno syscall.Errno) (hit bool) {
	p.t.Helper()
	j.prepare(own)
	what := p.failAt(p.disk.Ops()+at, errno, errno == syscall.EROFS || p.random.IntN(2) == 0)
	code, _, said := petcatRuns(p.t, j.args(own)...)
	p.disk.Fail(nil)
	switch {
	case code == exitDone:
	case !slices.Contains([]int{exitFailed, exitTryLater, exitConfig}, code), !strings.Contains("\n"+said, "\npetcat: "):
		p.t.Errorf("petcat %s, %s: it ended with %d: %s", j.name, what(), code, said)
	case what() == nothingFailed:
		p.t.Errorf("petcat %s ended with %d, and nothing failed: %s", j.name, code, said)
	}
	p.restorePower()
	j.check(own, code == exitDone)
	must(p.t, os.RemoveAll(own))
	if p.t.Failed() {
		p.t.Logf("petcat %s, %s: it ended with %d: %s", j.name, what(), code, said)
	}
	return what() != nothingFailed
}

// lifeWith is a server's life on a copy of a disk, of which one operation fails; none when at
// is 0. It returns how many operations there were, and whether one failed.
func (p *powercut) lifeWith(data string, fresh *disktest.Disk, at int64, errno syscall.Errno) (ops int64, hit bool) {
	p.t.Helper()
	p.disk, p.ledger = fresh.Clone(), newLedger()
	lasts := errno == syscall.EROFS || p.random.IntN(2) == 0
	what := p.failAt(at, errno, lasts)
	p.mount()
	code, said := p.live(data)
	ops = p.disk.Ops()
	p.disk.Fail(nil)
	p.restorePower()
	p.check(data)
	if v := p.ledger.verdict(); v != (verdict{}) {
		p.t.Errorf("%s: %s", what(), v)
	}
	codes := documented[errno]
	if at == 0 {
		codes = []int{exitDone}
	}
	if !slices.Contains(codes, code) && (at == 0 || lasts || code != exitConfig) {
		// SQLite does not say why it cannot open a file: who finds that others can be
		// made takes it for a matter of rights.
		p.t.Errorf("%s: the server ended with %d: %q", what(), code, said)
	}
	p.eject()
	return ops, what() != nothingFailed
}

// nothingFailed is what failed when nothing did.
const nothingFailed = "nothing failed"

// failAt has an operation fail, and all that follow if it lasts. What tells which it was.
func (p *powercut) failAt(at int64, errno syscall.Errno, lasts bool) (what func() string) {
	hit := nothingFailed
	begun := false
	p.disk.Fail(func(o disktest.Op) syscall.Errno {
		switch {
		case at == 0 || strings.HasSuffix(o.File, "-shm"):
			return 0
		case !begun && o.Number >= at && failure(errno, o) != 0:
			begun = true
			hit = fmt.Sprintf("%s %d of %q (operation %d, lasts: %v): %v", o.Kind, o.Nth, o.File, o.Number, lasts, errno)
			return failure(errno, o)
		case begun && lasts:
			return failure(errno, o)
		}
		return 0
	})
	return func() string { return hit }
}

// failure is the error of an operation: a sync finds a disk neither full nor read-only, and
// only a read-only disk refuses to open a file.
func failure(errno syscall.Errno, o disktest.Op) syscall.Errno {
	switch o.Kind {
	case disktest.Sync, disktest.SyncName:
		if errno != syscall.EIO {
			return 0
		}
	case disktest.Open:
		if errno != syscall.EROFS {
			return 0
		}
	case disktest.Write, disktest.Resize, disktest.Name:
	}
	return errno
}

// live starts a server, creates and stops it, and returns how it ended.
func (p *powercut) live(data string) (code int, said []string) {
	p.t.Helper()
	s := newServer(p.t, data)
	s.launch(processOf(serveFlags("serve", data, nil)...))
	if p.comesUp(s) {
		for range 12 {
			p.create(s)
		}
		_ = s.process.Signal(syscall.SIGTERM) // it may have ended already
	}
	code = s.wait(20 * time.Second)
	s.client.CloseIdleConnections()
	return code, s.log.sentences()
}
