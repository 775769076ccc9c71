package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// commands are what is cut besides a server.
var commands = []string{"init", "migrate", "restore", "backup"}

// round has the power cut in one of the ways in which it can be: first in each command until
// that has happened, then by random. A command may end before it comes to that.
func (p *powercut) round(number int, data string) {
	p.t.Helper()
	own := filepath.Join(p.dir, fmt.Sprint("of round ", number))
	way := slices.IndexFunc(commands, func(command string) bool { return p.cutIn[command] == 0 })
	if way < 0 {
		way = p.random.IntN(10)
	}
	switch way {
	case 0:
		p.initialising(own)
	case 1:
		p.migrating(own)
	case 2:
		p.restoring(own)
	case 3:
		p.backingUp(data, own)
	default:
		p.serving(data, p.pick(400))
		p.restorePower()
		for p.random.IntN(3) == 0 && !p.t.Failed() {
			p.serving(data, target{nth: 1 + p.random.IntN(20)}) // while it recovers
			p.restorePower()
		}
		p.check(data)
	}
	if v := p.ledger.verdict(); v != (verdict{}) {
		p.t.Errorf("after %d power cuts: %s", p.happened(), v)
	}
	must(p.t, os.RemoveAll(own))
}

// happened returns how often the power was cut.
func (p *powercut) happened() (cuts int) {
	for _, n := range p.cutIn {
		cuts += n
	}
	return cuts
}

// initialising makes a new deployment: what there is of it can be served.
func (p *powercut) initialising(own string) {
	p.t.Helper()
	done := p.command(target{nth: 1 + p.random.IntN(60)}, "init", "--data", own)
	p.restorePower()
	if done {
		must(p.t, os.Mkdir(own+" x", 0o700)) // the disk works
		must(p.t, os.Remove(own+" x"))
		if _, err := os.Stat(filepath.Join(own, "petcat.db")); err != nil {
			p.t.Errorf("a deployment is gone that was made: %v", err)
		}
	}
	s := serve(p.t, own)
	p.mustStop(s)
}

// migrating brings older data up to date: it stays whole, and can be migrated again.
func (p *powercut) migrating(own string) {
	p.t.Helper()
	must(p.t, os.Mkdir(own, 0o700))
	p.writeSynced(filepath.Join(own, "petcat.db"), p.older)
	_ = p.command(target{nth: 1 + p.random.IntN(30)}, "migrate", "--data", own)
	p.restorePower()
	petcatDoes(p.t, own, "migrate")
	p.wantThree(own)
}

// restoring restores a backup: all of it is there, or nothing, and then it can be restored
// again in the same place.
func (p *powercut) restoring(own string) {
	p.t.Helper()
	done := p.command(target{nth: 1 + p.random.IntN(60)}, "restore", p.copies, "--data", own)
	p.restorePower()
	code, stdout, stderr := petcatRuns(p.t, "account", "list", "--data", own)
	if code != exitDone || !strings.Contains(stdout, "caller") {
		if done {
			p.t.Errorf("what was restored is gone: %s%s", stdout, stderr)
		}
		petcatDoes(p.t, own, "restore", p.copies)
	}
	p.wantThree(own)
}

// backingUp backs up while nothing else happens: a file with the backup's name is whole.
func (p *powercut) backingUp(data, own string) {
	p.t.Helper()
	must(p.t, os.Mkdir(own, 0o700))
	p.syncDirectory(p.dir) // else the directory itself may be gone
	file := filepath.Join(own, "backup")
	done := p.command(target{nth: 1 + p.random.IntN(20)}, "backup", file, "--data", data, "--quiet")
	p.restorePower()
	_, err := os.Stat(file)
	switch {
	case err == nil:
		mustRun(p.t, "verify", file)
	case done:
		p.t.Errorf("a backup is gone that was made: %v", err)
	}
	p.check(data)
}

// wantThree checks that data holds the three categories of the backup.
func (p *powercut) wantThree(data string) {
	p.t.Helper()
	_, key := issueKey(p.t, data, "caller")
	s := serve(p.t, data)
	a, list := s.longList(p.plain, key)
	wantStatus(p.t, a, http.StatusOK)
	if len(list) != 3 {
		p.t.Errorf("there are %d categories of 3", len(list))
	}
	p.mustStop(s)
}

func (p *powercut) writeSynced(path string, data []byte) {
	p.t.Helper()
	f, err := os.Create(path)
	must(p.t, err)
	_, err = f.Write(data)
	must(p.t, err)
	must(p.t, f.Sync())
	must(p.t, f.Close())
	p.syncDirectory(filepath.Dir(path))
	p.syncDirectory(p.dir)
}

func (p *powercut) syncDirectory(path string) {
	p.t.Helper()
	d, err := os.Open(path)
	must(p.t, err)
	must(p.t, d.Sync())
	must(p.t, d.Close())
}
