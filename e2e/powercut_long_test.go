//go:build long && linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	rules "github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/disktest"
)

// cutDisk is a disk with power cuts, mounted in a directory. It needs root and FUSE.
type cutDisk struct {
	*disktest.Disk
	t       *testing.T
	dir     string
	unmount func() error
}

func newDisk(t *testing.T, size uint64) *cutDisk {
	t.Helper()
	d := &cutDisk{Disk: disktest.New(size), t: t, dir: t.TempDir()}
	d.mount()
	t.Cleanup(func() { _ = d.unmount() })
	return d
}

func (d *cutDisk) mount() {
	d.t.Helper()
	var err error
	d.unmount, err = d.Mount(d.dir)
	must(d.t, err)
}

// restore restores the power. The disk has the surviving data, and must not be in use.
func (d *cutDisk) restore(random *rand.Rand) {
	d.t.Helper()
	eventually(d.t, "the disk is not in use", func() bool { return d.unmount() == nil })
	d.Restore(random)
	d.mount()
}

// cutAt cuts the power in the nth operation from now, then calls kill and closes cut.
func (d *cutDisk) cutAt(nth int, kill func()) (cut chan struct{}) {
	cut = make(chan struct{})
	d.CutWhen(func(o disktest.Op) bool {
		if !strings.HasSuffix(o.File, "-shm") { // shared memory, which is recreated
			nth--
		}
		return nth <= 0
	}, func(disktest.Op) { kill(); close(cut) })
	return cut
}

// TestPowerCuts cuts the power PETCAT_CUTS times in random disk operations of a server (start, creates,
// checkpoints, recovery from the last cut) and of commands. Every acknowledged create survives, and
// the files of a command are complete or absent.
func TestPowerCuts(t *testing.T) {
	random := seeded(t)
	d := newDisk(t, 1<<30)
	place := filepath.Join(d.dir, "data")
	k := newKey(t, place, "acme", unlimited...)
	client := newClient(t, &http.Transport{MaxIdleConnsPerHost: 100})
	setOutage(t, true, client) // from each cut until the server exits
	known, number := newBook(), 0
	source := filepath.Join(t.TempDir(), "a.backup")
	petcat(t, place, "backup", source)
	for cut := range int(envNumber(t, "PETCAT_CUTS", 100)) {
		switch cut % 5 {
		case 3:
			d.cutCommand(random, cut, place, source)
		default:
			number++
			d.cutServer(random, place, client, k, known, fmt.Sprint("round-", number))
		}
		if cut%5 == 4 || random.IntN(3) > 0 { // else the next cut may be in the recovery
			n := serve(t, place)
			known.check(t, func() []category { return n.categories(k.Key) })
			n.stop()
			petcat(t, place, "verify")
		}
		if t.Failed() {
			t.Fatalf("after %d power cuts", cut+1)
		}
	}
	t.Logf("%d creates acknowledged", known.size())
}

// cutServer cuts the power of a server while clients create.
func (d *cutDisk) cutServer(random *rand.Rand, place string, client *http.Client, k key, known *book, round string) {
	d.t.Helper()
	var started sync.Mutex // held until the server process exists
	var n *node
	started.Lock()
	cut := d.cutAt(1+random.IntN(400), func() {
		started.Lock()
		defer started.Unlock()
		_ = n.process.Kill()
	})
	n = launch(d.t, place)
	started.Unlock()
	eventually(d.t, "the node is ready or has exited", func() bool { return n.saysReady() || n.hasExited() })
	atOnce(4, func(w int) {
		for i := 0; n.api != "" && !n.hasExited(); i++ {
			body := strings.NewReader(fmt.Sprintf(`{"name":"%s-%d-%d"}`, round, w, i))
			a, err := try(client, http.MethodPost, n.api+"/v1/categories", body, by(k.Key))
			if err == nil && a.StatusCode == http.StatusCreated {
				var c category
				a.decode(d.t, &c)
				known.acknowledge(c)
			}
		}
	})
	select {
	case <-cut:
	case <-time.After(patience):
		d.t.Fatal("the power was not cut")
	}
	n.kill()
	d.restore(random)
}

// cutCommand cuts the power during init, restore or backup, unless the command finishes first.
func (d *cutDisk) cutCommand(random *rand.Rand, number int, place, source string) {
	d.t.Helper()
	own := filepath.Join(d.dir, fmt.Sprint("own ", number))
	backup := filepath.Join(d.dir, fmt.Sprintf("own %d.backup", number))
	job := random.IntN(3)
	args := [][]string{
		{"init", "--data", own},
		{"restore", source, "--data", own},
		{"backup", backup, "--data", place},
	}[job]
	cmd := command(args...)
	started := make(chan struct{})
	d.cutAt(1+random.IntN([]int{150, 300, 30}[job]), func() {
		<-started
		_ = cmd.Process.Kill()
	})
	must(d.t, cmd.Start())
	close(started)
	done := cmd.Wait() == nil
	d.CutWhen(nil, nil)
	d.restore(random)
	switch job {
	case 0:
		petcat(d.t, own, "init")
	case 1:
		if o := run(d.t, "account", "list", "--data", own); !strings.Contains(o.stdout, "acme") {
			if done {
				d.t.Errorf("the restored data is gone: %+v", o)
			}
			petcat(d.t, own, "restore", source)
		}
	case 2:
		if _, err := os.Stat(backup); err == nil {
			petcat(d.t, place, "verify", backup)
		} else if done {
			d.t.Errorf("a complete backup is gone: %v", err)
		}
	}
	must(d.t, os.RemoveAll(own))
}

func (n *node) hasExited() bool {
	select {
	case <-n.exited:
		return true
	default:
		return false
	}
}

// TestPowerCutFullDisk: on a full disk creates are rejected and lists are served. The server recovers
// when there is space again.
func TestPowerCutFullDisk(t *testing.T) {
	d := newDisk(t, 16<<20)
	place := filepath.Join(d.dir, "data")
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	n.create(k.Key, "before").want(t, http.StatusCreated)
	ballast := filepath.Join(d.dir, "ballast")
	f, err := os.Create(ballast)
	must(t, err)
	for size := 1 << 20; size >= 512; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	must(t, f.Close())
	known := newBook()
	setOutage(t, true, n.client) // until there is space again
	eventually(t, "creates are rejected", func() bool {
		a := n.create(k.Key, fmt.Sprint("category ", known.size()))
		if a.StatusCode != http.StatusCreated {
			a.wantError(t, http.StatusServiceUnavailable, rules.CodeServiceUnavailable)
			return true
		}
		var c category
		a.decode(t, &c)
		known.acknowledge(c)
		return false
	})
	known.check(t, func() []category { return n.categories(k.Key) })
	must(t, os.Remove(ballast))
	eventually(t, "creates are acknowledged again", func() bool {
		return n.create(k.Key, "after").StatusCode == http.StatusCreated
	})
	n.stop()
}

// TestPowerCutFailedSync: after a failed sync, creates are not acknowledged, and the process exits. Earlier
// acknowledged creates are there after the next start.
func TestPowerCutFailedSync(t *testing.T) {
	d := newDisk(t, 1<<30)
	place := filepath.Join(d.dir, "data")
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	n.create(k.Key, "before").want(t, http.StatusCreated)
	setOutage(t, true, n.client) // until it exits
	d.Fail(func(o disktest.Op) syscall.Errno {
		if o.Kind == disktest.Sync {
			return syscall.EIO
		}
		return 0
	})
	for range 20 {
		body := strings.NewReader(`{"name":"after"}`)
		a, err := try(n.client, http.MethodPost, n.api+"/v1/categories", body, by(k.Key))
		if err == nil && a.StatusCode < http.StatusInternalServerError {
			t.Errorf("a create got %d", a.StatusCode)
		}
	}
	if code := n.wait(); code != exitTryLater {
		t.Errorf("exit code %d: %q", code, n.sentences())
	}
	d.Fail(nil)
	n = serve(t, place)
	if all := n.categories(k.Key); len(all) == 0 || all[0].Name != "before" {
		t.Errorf("categories: %v", all)
	}
	n.stop()
}
