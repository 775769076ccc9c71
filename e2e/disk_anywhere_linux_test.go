package e2e

import (
	"fmt"
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

// TestDiskErrorsAnywhere lets one operation after the other of a server's life fail, or all
// from that one on: from its start over its creates to its end. Then the power is cut. What
// was answered with 201 must be there, and the exit code one that the documents name.
func TestDiskErrorsAnywhere(t *testing.T) {
	t.Parallel()
	p := newPowercut(t)
	data := filepath.Join(p.dir, "data")
	p.key = newCaller(t, data)
	p.eject()
	fresh, every, ran := p.disk.Clone(), max(1, 240/max(1, p.cuts)), 0
	// How many operations there are, the first run tells, in which none fails.
	for at, last := int64(0), int64(1); at <= last && !t.Failed(); at += int64(1 + p.random.IntN(2*every)) {
		p.disk, p.ledger = fresh.Clone(), newLedger()
		errno := []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EROFS}[p.random.IntN(3)]
		lasts := errno == syscall.EROFS || p.random.IntN(2) == 0
		what := p.failAt(at, errno, lasts)
		p.mount()
		code, said := p.live(data)
		if at == 0 {
			last = p.disk.Ops()
		}
		p.disk.Fail(nil)
		p.restorePower()
		p.check(data)
		if v := p.ledger.verdict(); v != (verdict{}) {
			t.Errorf("%s: %s", what(), v)
		}
		if !slices.Contains(documented[errno], code) && (lasts || code != exitConfig) {
			// SQLite does not say why it cannot open a file: who finds that others can be
			// made takes it for a matter of rights.
			t.Errorf("%s: the server ended with %d: %q", what(), code, said)
		}
		ran++
		p.eject()
	}
	t.Logf("%d operations failed", ran)
}

// failAt has an operation fail, and all that follow if it lasts. What tells which it was.
func (p *powercut) failAt(at int64, errno syscall.Errno, lasts bool) (what func() string) {
	hit := "nothing failed"
	begun := false
	p.disk.Fail(func(o disktest.Op) syscall.Errno {
		switch {
		case at == 0 || strings.HasSuffix(o.File, "-shm"):
			return 0
		case !begun && o.Number >= at:
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

// failure is the error of an operation: a sync finds a disk neither full nor read-only.
func failure(errno syscall.Errno, o disktest.Op) syscall.Errno {
	if errno != syscall.EIO && (o.Kind == disktest.Sync || o.Kind == disktest.SyncName) {
		return 0
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
