package backupschedule

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/datadir"
	"petcat/internal/sqlite"
	"petcat/internal/store"
)

// must returns v, and ends the test with its error.
func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// steppedClock is the machine's clock, whose time of day a test can set.
type steppedClock struct {
	clock.System

	by atomic.Int64
}

func (c *steppedClock) Read() clock.Reading {
	r := c.System.Read()
	r.Wall += c.by.Load()
	return r
}

// faulty is a store of which a test lets parts fail.
type faulty struct {
	*sqlite.Store

	untold atomic.Pointer[error] // of changes of notes
	copied func() error          // after a copy; nil: nothing
	told   func()                // before a note is changed; nil: nothing
}

func (f *faulty) SwapNote(ctx context.Context, name, was, to string) (bool, error) {
	if err := f.untold.Load(); err != nil {
		return false, *err
	}
	if f.told != nil {
		f.told()
	}
	return f.Store.SwapNote(ctx, name, was, to)
}

// deployment is one set of data with the nodes that back it up, in virtual time.
type deployment struct {
	t     *testing.T
	clock *steppedClock
	store *faulty
	nodes []*node
}

// inVirtualTime runs a test on a new deployment with three categories.
func inVirtualTime(t *testing.T, test func(d *deployment)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &deployment{t: t, clock: &steppedClock{System: clock.NewSystem()}}
		dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
		st, err := sqlite.Open(t.Context(), sqlite.Options{Dir: must(t, dir, err), Environment: petcat.Production, Clock: d.clock, Serving: true, Migrate: true})
		d.store = &faulty{Store: must(t, st, err)}
		free, err := petcat.ParseSubscription("free", 0, 0)
		a, err := petcat.ParseNewAccount("acme", must(t, free, err))
		account, err := st.CreateAccount(t.Context(), "cli:ada", must(t, a, err))
		must(t, account, err)
		defer func() {
			for _, n := range d.nodes {
				n.stop()
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(d)
	})
}

// node is one node with a folder.
type node struct {
	*Schedule

	t    *testing.T
	stop func()
}

// start starts a node of a machine, with a folder.
func (d *deployment) start(host, folder string, every time.Duration, keep int) *node {
	d.t.Helper()
	if err := PrepareFolder(folder); err != nil {
		d.t.Fatal(err)
	}
	n := &node{t: d.t, Schedule: New(Options{
		Store: d.store, Folder: folder, Every: every, Keep: keep, Node: rand(), Host: host, Version: "test",
		Clock: d.clock, Logger: slog.New(slog.NewTextHandler(d.t.Output(), nil)),
	})}
	return d.resume(n)
}

// resume has a node that was stopped go on.
func (d *deployment) resume(n *node) *node {
	ctx, cancel := context.WithCancel(d.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(n.UntilCheck()):
				n.Check(ctx)
			}
		}
	})
	n.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	d.nodes = append(d.nodes, n)
	return n
}

// rand returns an id of a process.
func rand() string { return time.Now().Format(time.RFC3339Nano) + string(rune('a'+next.Add(1)%26)) }

var next atomic.Int64

// wantFiles checks how many backups there are in a folder, with nothing beside them, and
// that all are whole.
func wantFiles(t *testing.T, when, folder string, want int) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	for _, e := range must(t, entries, err) {
		names = append(names, e.Name())
		path := filepath.Join(folder, e.Name())
		if err := verify(path, func() error { return nil }); err != nil {
			t.Errorf("%s: %s: %v", when, e.Name(), err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %s has the mode %v, %v", when, e.Name(), info.Mode(), err)
		}
	}
	if len(names) != want {
		t.Errorf("%s: there are %q, want %d", when, names, want)
	}
	return names
}

// alter changes the data as no operation does.
func (d *deployment) alter(statement string) {
	d.t.Helper()
	err := d.store.Change(d.t.Context(), "alter", func(tx *store.Tx) error {
		_, err := tx.Exec(statement)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}
