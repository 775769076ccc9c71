package backupschedule

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"petcat/internal/backup"
)

// BackupPaced tells the store's rows, and then what the test wants.
func (f *faulty) BackupPaced(ctx context.Context, file string, rest func() error, to backup.Sink) error {
	if err := f.Store.BackupPaced(ctx, file, rest, to); err != nil || f.copied == nil {
		return err
	}
	return f.copied()
}

// TestSchedule: a backup is made at the start and then at each interval, and the oldest
// ones are removed.
func TestSchedule(t *testing.T) {
	inVirtualTime(t, func(d *deployment) {
		folder := filepath.Join(t.TempDir(), "backups")
		n := d.start("a", folder, time.Hour, 3)
		theirs := filepath.Join(folder, "petcat-staging-ABCDEFGH-20200101T000000Z.backup")
		for made := range 6 {
			time.Sleep(30 * time.Minute)
			wantFiles(t, "half an hour after a backup", folder, min(made+1, 3))
			if age := d.clock.Read().Time().Sub(n.Stats().Last.TakenAt); age < 25*time.Minute || age > 35*time.Minute {
				t.Errorf("the last one is said to be %s old", age)
			}
			time.Sleep(30 * time.Minute)
		}
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 || IsOpen(folder) {
			t.Errorf("the folder has the mode %v, %v", info.Mode(), err)
		}
		// What is not ours stays.
		for _, path := range []string{theirs, filepath.Join(folder, "note")} {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Hour)
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != 5 {
			t.Errorf("there are %v, %v; want three backups and two files of others", entries, err)
		}
		last := n.Stats().Last
		if info, err := os.Stat(last.File); err != nil || info.Size() != last.Size || last.Host != "a" || n.Stats().Failures != 0 {
			t.Errorf("the last one is said to be %+v, %v", last, err)
		}
	})
}

// TestRestart: a node that is started again makes no other backup too early.
func TestRestart(t *testing.T) {
	inVirtualTime(t, func(d *deployment) {
		folder := t.TempDir()
		for range 5 {
			n := d.start("a", folder, time.Hour, 10)
			time.Sleep(10 * time.Minute)
			n.stop()
		}
		wantFiles(t, "within an hour", folder, 1)
		n := d.start("a", folder, time.Hour, 10)
		time.Sleep(time.Minute)
		if n.Stats().Last.TakenAt.IsZero() {
			t.Error("the last one is not known after a restart")
		}
		time.Sleep(14 * time.Minute)
		wantFiles(t, "after an hour", folder, 2)
	})
}

// TestTwoNodes: one of them makes the backups, and the other one when it is gone. What it
// left half done is removed.
func TestTwoNodes(t *testing.T) {
	inVirtualTime(t, func(d *deployment) {
		folders := map[string]string{"a": t.TempDir(), "b": t.TempDir()}
		a := d.start("a", folders["a"], time.Hour, 100)
		b := d.start("b", folders["b"], time.Hour, 100)
		time.Sleep(5*time.Hour + 30*time.Minute)
		first, second := a, b
		if a.Stats().Last.Host == "b" {
			first, second = b, a
		}
		of := first.options.Folder
		wantFiles(t, "of the first node", of, 6)
		wantFiles(t, "of the second node", second.options.Folder, 0)
		if first.Stats().Last != second.Stats().Last {
			t.Errorf("the nodes know of %+v and %+v", first.Stats().Last, second.Stats().Last)
		}
		first.stop()
		time.Sleep(45 * time.Minute)
		wantFiles(t, "of the second node alone", second.options.Folder, 1)
		time.Sleep(2 * time.Hour)
		wantFiles(t, "of the second node", second.options.Folder, 3)

		// Another process dies while it makes one.
		second.stop()
		left := filepath.Join(second.options.Folder, "."+second.files.prefix+"20200101T000000Z.backup.123")
		if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		c := claim{schedule: second.Schedule}
		var err error
		c.record, c.text, err = Read(d.t.Context(), d.store)
		if err == nil {
			err = c.renew(d.t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		d.start("b", second.options.Folder, time.Hour, 100)
		time.Sleep(claimFor - time.Minute)
		if _, err := os.Stat(left); err != nil {
			t.Errorf("two nodes make backups at once: %v", err)
		}
		time.Sleep(2 * time.Minute)
		wantFiles(t, "after a node was killed", second.options.Folder, 4)
	})
}

// TestClaimGivenUp: who saw a claim of another node does not wait for its end when it is
// given up before.
func TestClaimGivenUp(t *testing.T) {
	inVirtualTime(t, func(d *deployment) {
		folder := t.TempDir()
		other := claim{schedule: New(Options{Store: d.store, Node: "b", Clock: d.clock})}
		if err := other.renew(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		d.start("a", folder, 2*time.Second, 1)
		time.Sleep(10 * time.Second)
		wantFiles(t, "while another node makes one", folder, 0)
		if err := other.end(d.t.Context(), nil); err != nil {
			d.t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		wantFiles(t, "when it gave up", folder, 1)
	})
}

// TestFailures: what fails is counted and tried again, and removes nothing.
func TestFailures(t *testing.T) {
	broken := errors.New("no space left on device")
	for _, tt := range []struct {
		name       string
		fail, mend func(d *deployment, folder string)
	}{
		{
			name: "the copy fails",
			fail: func(d *deployment, _ string) { d.store.copied = func() error { return broken } },
			mend: func(d *deployment, _ string) { d.store.copied = nil },
		},
		{
			name: "the folder is gone",
			fail: func(d *deployment, folder string) {
				if err := errors.Join(os.Rename(folder, folder+".away"), os.WriteFile(folder, nil, 0o600)); err != nil {
					d.t.Fatal(err)
				}
			},
			mend: func(d *deployment, folder string) {
				if err := errors.Join(os.Remove(folder), os.Rename(folder+".away", folder)); err != nil {
					d.t.Fatal(err)
				}
			},
		},
		{
			name: "the copy cannot be verified",
			fail: func(d *deployment, _ string) { d.alter("UPDATE counter SET account_id = 0") },
			mend: func(d *deployment, _ string) { d.alter("UPDATE counter SET account_id = 1") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inVirtualTime(t, func(d *deployment) {
				folder := filepath.Join(t.TempDir(), "backups")
				n := d.start("a", folder, 24*time.Hour, 1)
				time.Sleep(time.Hour)
				before := wantFiles(t, "before", folder, 1)
				n.stop() // its goroutine reads what the test changes
				tt.fail(d, folder)
				d.resume(n)
				time.Sleep(23*time.Hour + 30*time.Minute)
				if got := n.Stats().Failures; got < 4 || got > 6 {
					t.Errorf("%d failures in half an hour; want a few, ever less often", got)
				}
				n.stop()
				tt.mend(d, folder)
				if after := wantFiles(t, "while it fails", folder, 1); !slices.Equal(before, after) {
					t.Errorf("there is %q in the place of %q", after, before)
				}
				d.resume(n)
				time.Sleep(time.Hour + time.Minute)
				if after := wantFiles(t, "when it works again", folder, 1); slices.Equal(before, after) {
					t.Error("there is no new one")
				}
			})
		})
	}
}

// TestUntold: a backup is not made again because the store could not be told of it.
func TestUntold(t *testing.T) {
	inVirtualTime(t, func(d *deployment) {
		folder := t.TempDir()
		away := errors.New("the database is away")
		d.store.copied = func() error {
			d.store.untold.Store(&away)
			return nil
		}
		n := d.start("a", folder, time.Hour, 10)
		time.Sleep(30 * time.Minute)
		wantFiles(t, "while the database is away", folder, 1)
		if r, _, err := Read(d.t.Context(), d.store); err != nil || r.Last != nil || n.Stats().Last.TakenAt.IsZero() {
			t.Errorf("the store knows of %+v, %v; want nothing yet, and the node does", r.Last, err)
		}
		d.store.untold.Store(nil)
		time.Sleep(10 * time.Minute)
		wantFiles(t, "when it is back", folder, 1)
		if r, _, err := Read(d.t.Context(), d.store); err != nil || r.Last == nil || *r.Last != n.Stats().Last || r.Claim != nil {
			t.Errorf("the store knows of %+v, %v", r, err)
		}
	})
}

// TestTakenOver: a node that was silent for too long gives its backup up.
func TestTakenOver(t *testing.T) {
	inVirtualTime(t, func(d *deployment) {
		folder := t.TempDir()
		n := New(Options{Store: d.store, Folder: folder, Every: time.Hour, Keep: 1, Node: "a", Clock: d.clock})
		mine, theirs := claim{schedule: n}, claim{schedule: New(Options{Store: d.store, Node: "b", Clock: d.clock})}
		if err := mine.renew(d.t.Context()); err != nil {
			t.Fatal(err)
		}
		theirs.text = mine.text
		time.Sleep(renewEvery)
		if err := theirs.renew(d.t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := mine.keep(d.t.Context()); !errors.Is(err, errTakenOver) {
			t.Errorf("keep = %v", err)
		}
		if err := mine.end(d.t.Context(), nil); !errors.Is(err, errTakenOver) {
			t.Errorf("end = %v", err)
		}
		if err := theirs.keep(d.t.Context()); err != nil {
			t.Errorf("the other's keep = %v", err)
		}
	})
}

// TestLostAnswer: a claim stays ours although the answer to its last change was lost.
func TestLostAnswer(t *testing.T) {
	inVirtualTime(t, func(d *deployment) {
		c := claim{schedule: New(Options{Store: d.store, Node: "a", Clock: d.clock})}
		if err := c.renew(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		before := c
		time.Sleep(time.Second)
		if err := c.renew(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		time.Sleep(renewEvery)
		if err := before.keep(d.t.Context()); err != nil {
			t.Errorf("keep = %v", err)
		}
		if err := before.end(d.t.Context(), nil); err != nil {
			t.Errorf("end = %v", err)
		}
	})
}

// TestStopWhileClaiming: a node that is stopped while it claims a backup, or makes one,
// leaves no claim.
func TestStopWhileClaiming(t *testing.T) {
	for _, when := range []string{"claiming", "copying"} {
		t.Run(when, func(t *testing.T) {
			inVirtualTime(t, func(d *deployment) {
				folder := t.TempDir()
				ctx, stop := context.WithCancel(d.t.Context())
				if when == "claiming" {
					d.store.told = stop
				} else {
					d.store.copied = func() error { stop(); return ctx.Err() }
				}
				n := New(Options{Store: d.store, Folder: folder, Every: time.Hour, Keep: 1, Node: "a", Clock: d.clock, Logger: slog.New(slog.DiscardHandler)})
				n.Check(ctx)
				if r, text, err := Read(d.t.Context(), d.store); err != nil || r.Claim != nil || text == "" {
					t.Errorf("the store knows of %s, %v", text, err)
				}
				wantFiles(t, "afterwards", folder, 0)
				if n.Stats().Failures != 0 {
					t.Error("a stop counts as a failure")
				}
			})
		})
	}
}

// TestClockIsSet: whatever the clock does, a backup is made about each interval, and the
// one that was just made stays.
func TestClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{-365 * 24 * time.Hour, -2 * time.Hour, time.Hour, 365 * 24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			inVirtualTime(t, func(d *deployment) {
				folder := t.TempDir()
				n := d.start("a", folder, time.Hour, 1)
				time.Sleep(30 * time.Minute)
				before := n.Stats().Last
				d.clock.by.Add(int64(by))
				time.Sleep(2 * time.Minute)
				made := n.Stats().Last
				if made == before {
					d.t.Fatal("no backup was made")
				}
				for range 3 {
					names := wantFiles(t, "after the clock was set", folder, 1)
					if filepath.Base(n.Stats().Last.File) != names[0] {
						t.Errorf("%q is left, and the last is %+v", names, n.Stats().Last)
					}
					time.Sleep(time.Hour)
				}
				if age := d.clock.Read().Time().Sub(made.TakenAt); age < 3*time.Hour || n.Stats().Failures != 0 {
					t.Errorf("%s later there were %d failures", age, n.Stats().Failures)
				}
			})
		})
	}
}
