package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/disktest"
	"petcat/internal/tooltest"
)

// cutsVariable asks for so many power cuts. make test asks for a few, when its other tests
// are done: what they wait for must not wait for these.
const cutsVariable = "PETCAT_POWER_CUTS"

// powercut cuts the power of a disk on which the program works, again and again.
type powercut struct {
	t       *testing.T
	cuts    int // asked for
	random  *rand.Rand
	disk    *disktest.Disk
	dir     string // where it is mounted
	unmount func() error
	hits    map[string]int // operations that were cut, by what the program did
	cutIn   map[string]int // how often the power was cut in what the program did
	crashed bool           // the last server was cut off: the next one recovers

	ledger *ledger
	plain  *http.Client
	key    string
	copies string // a backup of three categories, on another disk

	mu   sync.Mutex
	sent int // creates; guarded by mu
}

func newPowercut(t *testing.T) *powercut {
	t.Helper()
	tooltest.NeedServer(t)
	cuts, err := strconv.Atoi(os.Getenv(cutsVariable))
	if err != nil {
		t.Skip("make test and make powercut run it")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	p := &powercut{
		t: t, cuts: cuts, random: rand.New(rand.NewPCG(seed, 0)), disk: disktest.New(1 << 30), dir: t.TempDir(),
		hits: make(map[string]int), cutIn: make(map[string]int), ledger: newLedger(), plain: newListClient(t),
	}
	p.mount()
	t.Cleanup(func() {
		if p.unmount != nil {
			_ = p.unmount()
		}
	})
	return p
}

// mount gives the disk to the system.
func (p *powercut) mount() {
	p.t.Helper()
	p.unmount = mountDisk(p.t, p.disk, p.dir)
}

// eject takes the disk from the system, when nobody uses it.
func (p *powercut) eject() {
	p.t.Helper()
	eventually(p.t, 5*time.Second, "nobody uses the disk", func() bool { return p.unmount() == nil })
	p.unmount = nil
}

// restorePower lets the disk come back, with what survived. Nobody may use it.
func (p *powercut) restorePower() {
	p.t.Helper()
	p.eject()
	p.disk.Restore(p.random)
	p.mount()
}

// target is the operation during which the power is cut.
type target struct {
	kind disktest.Kind // "": any
	file string        // "": any
	part string        // of the file's name
	nth  int           // of these, from 1
}

func (g target) is(o disktest.Op) bool {
	return (g.kind == "" || g.kind == o.Kind) && (g.file == "" || g.file == o.File) && strings.Contains(o.File, g.part)
}

// What a server is cut off in, besides "serve".
const (
	inRecovery = "recovery" // a start after a cut
	onSchedule = "scheduled backup"
)

// needed are operations of a server that are cut at least once in the long form.
var needed = []target{
	{kind: disktest.Write, file: "petcat.db-wal"},
	{kind: disktest.Sync, file: "petcat.db-wal"},
	{kind: disktest.Write, file: "petcat.db"},
	{kind: disktest.Sync, file: "petcat.db"},
}

// missing returns one of those that were not cut yet.
func (p *powercut) missing() (g target, ok bool) {
	for _, g := range needed {
		if p.hits[hit("serve", g.kind, g.file)]+p.hits[hit(inRecovery, g.kind, g.file)] == 0 {
			return g, true
		}
	}
	return target{}, false
}

// hit is the name of an operation that was cut in what the program did.
func hit(what string, kind disktest.Kind, file string) string {
	if strings.ContainsAny(file, "0123456789") {
		file = "a temporary file"
	}
	return fmt.Sprintf("%s: %s %s", what, kind, file)
}

// pick chooses one: any operation among the next so many, or one of a kind.
func (p *powercut) pick(next int) target {
	if g, ok := p.missing(); ok && p.long() {
		g.nth = 1 + p.random.IntN(3)
		return g
	}
	kinds := []target{
		{kind: disktest.Sync, file: "petcat.db-wal"},
		{kind: disktest.Write, file: "petcat.db-wal"},
		{kind: disktest.Sync, file: "petcat.db"},
		{kind: disktest.Write, file: "petcat.db"},
		{kind: disktest.SyncName},
		{kind: disktest.Name},
		{kind: disktest.Resize},
	}
	if p.random.IntN(2) == 0 {
		return target{nth: 1 + p.random.IntN(next)}
	}
	g := kinds[p.random.IntN(len(kinds))]
	g.nth = 1 + p.random.IntN(max(1, next/8))
	return g
}

// cut has the power fail at a target, or at the first operation after a time, and then
// kills whom it has to. Cut is closed afterwards; struck says before that it will be.
func (p *powercut) cut(what func(disktest.Op) string, g target, latest time.Duration, kill func()) (cut chan struct{}, struck *atomic.Bool) {
	cut, struck = make(chan struct{}), &atomic.Bool{}
	end := time.Now().Add(latest)
	seen := 0
	p.disk.CutWhen(func(o disktest.Op) bool {
		if strings.HasSuffix(o.File, "-shm") {
			return false // it is memory, and made anew
		}
		if g.is(o) {
			seen++
		}
		strikes := seen >= g.nth || time.Now().After(end)
		struck.Store(strikes)
		return strikes
	}, func(o disktest.Op) {
		kill()
		during := what(o)
		p.hits[hit(during, o.Kind, o.File)]++
		p.cutIn[during]++
		close(cut)
	})
	return cut, struck
}

// serving starts a server and lets clients create until the power is cut. It may be cut
// while the server starts.
func (p *powercut) serving(data string, g target, flags ...string) *server {
	p.t.Helper()
	s := newServer(p.t, data)
	what := func(o disktest.Op) string {
		ready, _, _ := s.log.ready()
		switch {
		case strings.Contains(o.File, "backup"):
			return onSchedule
		case p.crashed && ready.IsZero():
			return inRecovery
		}
		return "serve"
	}
	cut, _ := p.cut(what, g, 2*time.Second, func() { _ = s.process.Kill() })
	s.launch(processOf(serveFlags("serve", data, flags)...))
	var group sync.WaitGroup
	if p.comesUp(s) {
		for range 4 {
			group.Go(func() {
				for p.create(s) {
				}
			})
		}
		// Nothing else may happen on a disk to which nobody writes.
		group.Go(func() {
			for p.create(s) {
				lapse(time.Millisecond)
			}
		})
	}
	select {
	case <-cut:
	case <-time.After(10 * time.Second):
		p.t.Errorf("the power was not cut: %+v", g)
	}
	group.Wait()
	s.kill()
	s.client.CloseIdleConnections()
	p.crashed = true
	return s
}

// comesUp waits until a server is ready, or has ended.
func (p *powercut) comesUp(s *server) (ready bool) {
	within(20*time.Second, func() bool {
		select {
		case <-s.ended:
			return true
		default:
		}
		at, listen, admin := s.log.ready()
		if at.IsZero() {
			return false
		}
		s.api, s.admin, ready = "http://"+listen, "http://"+admin, true
		return true
	})
	return ready
}

// create creates one category, and reports whether it was answered.
func (p *powercut) create(s *server) bool {
	p.mu.Lock()
	p.sent++
	name := fmt.Sprint("category ", p.sent)
	p.mu.Unlock()
	p.ledger.send(name)
	a, err := s.try(http.MethodPost, s.api+"/v1/categories", strings.NewReader(categoryBody(name)), withKey(p.key))
	if err != nil || a.StatusCode != http.StatusCreated {
		return false
	}
	p.ledger.acknowledge(a.category(p.t))
	return true
}

// check starts a server on what survived and holds its list against what is known.
func (p *powercut) check(data string) {
	p.t.Helper()
	s := serve(p.t, data)
	a, list := s.longList(p.plain, p.key)
	wantStatus(p.t, a, http.StatusOK)
	p.ledger.check(list)
	p.mustStop(s)
	p.crashed = false
}

func (p *powercut) mustStop(s *server) {
	p.t.Helper()
	s.mustStop()
	s.client.CloseIdleConnections()
}

// command runs a command whose power is cut at a target, if it comes so far, and returns
// whether it said that it was done.
func (p *powercut) command(g target, args ...string) (done bool) {
	p.t.Helper()
	cmd := processOf(args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	started := make(chan struct{})
	cut, struck := p.cut(func(disktest.Op) string { return args[0] }, g, time.Hour, func() {
		<-started
		_ = cmd.Process.Kill()
	})
	must(p.t, cmd.Start())
	close(started)
	err := cmd.Wait()
	p.disk.CutWhen(nil, nil)
	if struck.Load() {
		<-cut
	} else if err != nil {
		p.t.Errorf("petcat %s: %v: %s", args[0], err, &output)
	}
	return err == nil
}

// prepare makes what the rounds need.
func (p *powercut) prepare(data string) {
	p.t.Helper()
	elsewhere := filepath.Join(p.t.TempDir(), "data")
	key := newCaller(p.t, elsewhere)
	s := serve(p.t, elsewhere)
	for _, name := range []string{"dog", "cat", "cow"} {
		s.mustCreate(key, name)
	}
	s.mustStop()
	p.copies = filepath.Join(p.t.TempDir(), "backup")
	petcatDoes(p.t, elsewhere, "backup", p.copies, "--quiet")
	p.key = newCaller(p.t, data)
}

// TestPowerCuts cuts the power as often as it is asked for, at random operations of the disk:
// of a server that starts, creates, checkpoints, backs up on schedule and recovers from the
// last cut, and at least once each of init, restore and backup. Whatever was answered
// with 201 is there afterwards; a new deployment, a backup and a restore are
// whole, or not there. The long form has cut each kind of operation that keeps a create.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	p := newPowercut(t)
	data := filepath.Join(p.dir, "data")
	p.prepare(data)
	for number := 1; p.happened() < p.cuts && !t.Failed(); number++ {
		if number > 3*p.cuts {
			t.Fatalf("%d rounds cut the power %d times: %v", number-1, p.happened(), p.cutIn)
		}
		p.round(number, data)
	}
	for _, what := range append([]string{"serve", inRecovery}, ways...) {
		if p.cutIn[what] == 0 {
			t.Errorf("the power was never cut in %s", what)
		}
	}
	if g, ok := p.missing(); ok && p.long() {
		t.Errorf("the power was never cut in a %s of %s", g.kind, g.file)
	}
	p.report()
	acked, maybe := p.ledger.acknowledged()
	t.Logf("%d power cuts %v: %d creates acknowledged, %d never answered: %s", p.happened(), p.cutIn, acked, maybe, p.ledger.verdict())
}

// report logs what was cut.
func (p *powercut) report() {
	for _, what := range slices.Sorted(maps.Keys(p.hits)) {
		p.t.Logf("%4d %s", p.hits[what], what)
	}
}

// TestPowerCutsAnywhere cuts the power in one operation after the other of init,
// restore and backup, until the command ends before it comes to that. Its short form tries
// some of them.
func TestPowerCutsAnywhere(t *testing.T) {
	t.Parallel()
	p := newPowercut(t)
	data := filepath.Join(p.dir, "data")
	p.prepare(data)
	for _, j := range p.jobs(data) {
		nth := 1
		for before := -1; before < p.cutIn[j.name] && !t.Failed(); nth += p.step() {
			before = p.cutIn[j.name]
			own := filepath.Join(p.dir, fmt.Sprint(j.name, " ", nth))
			p.cutJob(j, own, nth)
			must(t, os.RemoveAll(own))
		}
		if p.cutIn[j.name] == 0 {
			t.Errorf("the power was never cut in %s", j.name)
		}
	}
	p.report()
	t.Logf("%d power cuts %v", p.happened(), p.cutIn)
}

// TestPowerCutsSeeWhatIsNotSynced: a program that does not sync what it has acknowledged
// loses it.
func TestPowerCutsSeeWhatIsNotSynced(t *testing.T) {
	t.Parallel()
	p := newPowercut(t)
	data := filepath.Join(p.dir, "data")
	p.prepare(data)
	p.disk.Lie(func(kind disktest.Kind, file string) bool { return kind == disktest.Sync && file == "petcat.db-wal" })
	for range 10 {
		p.serving(data, target{kind: disktest.Write, file: "petcat.db-wal", nth: 40 + p.random.IntN(40)})
		p.restorePower()
		s := newServer(t, data)
		s.launch(processOf(serveFlags("serve", data, nil)...))
		if !p.comesUp(s) {
			return // it does not even start
		}
		a, list := s.longList(p.plain, p.key)
		wantStatus(t, a, http.StatusOK)
		p.ledger.check(list)
		p.mustStop(s)
		if p.ledger.verdict().Lost > 0 {
			return
		}
	}
	t.Error("10 power cuts of a disk that does not sync lost nothing")
}
