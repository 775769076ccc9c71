package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"petcat/internal/disktest"
)

// ways are what is cut besides a server that only serves.
var ways = []string{"init", "restore", "backup", onSchedule}

// round has the power cut in one of the ways in which it can be: first in each of those until
// that has happened, then by random. A command may end before it comes to that.
func (p *powercut) round(number int, data string) {
	p.t.Helper()
	own := filepath.Join(p.dir, fmt.Sprint("of round ", number))
	jobs := p.jobs(data)
	way := slices.IndexFunc(ways, func(what string) bool { return p.cutIn[what] == 0 })
	if way < 0 {
		way = p.random.IntN(11)
	}
	switch {
	case way < len(jobs):
		p.cutJob(jobs[way], own, 1+p.random.IntN(jobs[way].operations))
	case way == len(jobs):
		p.backingUpOnSchedule(own)
	default:
		p.serving(data, p.pick(400))
		p.restorePower()
		for tries := 0; p.recoversAgain(tries) && !p.t.Failed(); tries++ {
			g, ok := p.missing()
			if g.nth = 1; !ok || !p.long() {
				g = target{nth: 1 + p.random.IntN(20)}
			}
			p.serving(data, g) // while it recovers
			p.restorePower()
		}
		p.check(data)
	}
	if v := p.ledger.verdict(); v != (verdict{}) {
		p.t.Errorf("after %d power cuts: %s", p.happened(), v)
	}
	must(p.t, os.RemoveAll(own))
}

// recoversAgain decides whether the power is cut in a recovery, after so many cuts in the
// last ones: by random, and when that has not happened yet.
func (p *powercut) recoversAgain(tries int) bool {
	_, missing := p.missing()
	return p.random.IntN(3) == 0 || tries < 3 && (p.cutIn[inRecovery] == 0 || missing && p.long())
}

// long reports whether so many cuts are asked for that nothing is left to chance.
func (p *powercut) long() bool { return p.cuts >= allCuts }

// step is how far it is to the next operation that is tried, of all that there are: 1 in the
// long form.
func (p *powercut) step() int {
	if p.long() {
		return 1
	}
	return 1 + p.random.IntN(2*allCuts/max(1, p.cuts))
}

// happened returns how often the power was cut.
func (p *powercut) happened() (cuts int) {
	for _, n := range p.cutIn {
		cuts += n
	}
	return cuts
}

// job is a command that is interrupted.
type job struct {
	name       string
	operations int // of the disk, about
	prepare    func(own string)
	args       func(own string) []string
	check      func(own string, done bool) // afterwards, with its power back; done: it said so
}

// jobs are the commands that write much.
func (p *powercut) jobs(data string) []job {
	file := func(own string) string { return filepath.Join(own, "backup") }
	return []job{
		{
			"init", 300, func(string) {},
			func(own string) []string { return []string{"init", "--data", own} },
			p.initialised,
		},
		{
			"restore", 400, func(string) {},
			func(own string) []string { return []string{"restore", p.copies, "--data", own} },
			p.restored,
		},
		{
			"backup", 20, func(own string) {
				must(p.t, os.Mkdir(own, 0o700))
				p.syncDirectory(p.dir) // else the directory itself may be gone
			},
			func(own string) []string { return []string{"backup", file(own), "--data", data, "--quiet"} },
			func(own string, done bool) { p.backedUp(data, file(own), done) },
		},
	}
}

// cutJob cuts the power in an operation of a command, if it comes so far.
func (p *powercut) cutJob(j job, own string, nth int) {
	p.t.Helper()
	j.prepare(own)
	done := p.command(target{nth: nth}, j.args(own)...)
	p.restorePower()
	j.check(own, done)
}

// initialised: what there is of a new deployment can be served.
func (p *powercut) initialised(own string, done bool) {
	p.t.Helper()
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

// restored: all of the backup is there, or nothing, and then it can be restored again in the
// same place.
func (p *powercut) restored(own string, done bool) {
	p.t.Helper()
	code, stdout, stderr := petcatRuns(p.t, "account", "list", "--data", own)
	if code != exitDone || !strings.Contains(stdout, "caller") {
		if done {
			p.t.Errorf("what was restored is gone: %s%s", stdout, stderr)
		}
		petcatDoes(p.t, own, "restore", p.copies)
	}
	p.wantThree(own)
}

// backedUp: a file with the backup's name is whole, and what was backed up is there.
func (p *powercut) backedUp(data, file string, done bool) {
	p.t.Helper()
	_, err := os.Stat(file)
	switch {
	case err == nil:
		mustRun(p.t, "verify", file)
	case done:
		p.t.Errorf("a backup is gone that was made: %v", err)
	}
	p.check(data)
}

// backingUpOnSchedule cuts the power of a new server that backs up each second: each file
// with the name of a backup is whole, and those are there of which the log told.
func (p *powercut) backingUpOnSchedule(own string) {
	p.t.Helper()
	data, folder := filepath.Join(own, "data"), filepath.Join(own, "backups")
	key, known := p.key, p.ledger
	defer func() { p.key, p.ledger = key, known }()
	// A server that was cut off while it made a backup would keep this one waiting for 3 min.
	p.key, p.ledger, p.crashed = newCaller(p.t, data), newLedger(), false
	g := []target{
		{part: "backup", nth: 1 + p.random.IntN(200)}, // most of the copy
		{kind: disktest.Sync, part: "backup", nth: 1 + p.random.IntN(4)},
		{kind: disktest.Name, file: "backups", nth: 1 + p.random.IntN(12)},
		{kind: disktest.SyncName, file: "backups", nth: 1 + p.random.IntN(2)},
	}[p.random.IntN(4)]
	s := p.serving(data, g, "--backup-every", "1s", "--backup-keep", "100", "--backup-dir", folder)
	p.restorePower()
	files := scheduled(p.t, folder)
	for _, file := range files {
		mustRun(p.t, "verify", file)
	}
	for line := range strings.Lines(s.log.String()) {
		var entry struct{ Msg, File string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "a scheduled backup was made and verified" && !slices.Contains(files, entry.File) {
			p.t.Errorf("a backup is gone that was made: %s; there are %v", entry.File, files)
		}
	}
	p.check(data)
	if v := p.ledger.verdict(); v != (verdict{}) {
		p.t.Errorf("beside a scheduled backup: %s", v)
	}
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
