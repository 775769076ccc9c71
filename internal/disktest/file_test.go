package disktest

import (
	"bytes"
	"math/rand/v2"
	"syscall"
	"testing"
)

// written returns a disk with a file of three pages: the first two were synced, then the second
// was overwritten and the third appended. Its name is synced.
func written(t *testing.T) (d *Disk, f *file) {
	t.Helper()
	d = New(1 << 20)
	f = d.newFile("a", syscall.S_IFREG|0o600)
	for _, errno := range []syscall.Errno{
		d.rename(d.root, renaming{"a": f}), d.sync(d.root),
		d.write(f, 0, bytes.Repeat([]byte("1"), 2*pageSize)), d.sync(f),
		d.write(f, pageSize, bytes.Repeat([]byte("2"), pageSize)), d.write(f, 2*pageSize, bytes.Repeat([]byte("3"), pageSize)),
	} {
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	return d, f
}

// howMuch reports how much of a page survived: all, none or torn.
func howMuch(page []byte, of string) string {
	switch bytes.Count(page, []byte(of)) {
	case 0:
		return "none"
	case pageSize:
		return "all"
	default:
		return "torn"
	}
}

// TestDataAfterPowerCut: synced data survives, and every possible state of the unsynced pages
// occurs with some seed.
func TestDataAfterPowerCut(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(2000) {
		d, f := written(t)
		d.Restore(rand.New(rand.NewPCG(seed, 0)))
		if d.root.names["a"] != f {
			t.Fatal("a synced name is lost")
		}
		if howMuch(f.data[:pageSize], "1") != "all" {
			t.Fatal("a synced page has changed")
		}
		if n := bytes.Count(f.data, []byte("3")) + bytes.Count(f.data, []byte("2")); n%sectorSize != 0 {
			t.Fatal("a sector is torn")
		}
		seen[howMuch(f.data[pageSize:2*pageSize], "2")+" "+howMuch(f.data[2*pageSize:], "3")]++
	}
	for _, want := range []string{
		"none none", "all all", "all none", "none all", "torn none", "none torn", "torn all", "all torn",
	} {
		if seen[want] == 0 {
			t.Errorf("no run has %q: %v", want, seen)
		}
	}
}

// TestNamesAfterPowerCut: a prefix of the unsynced name changes survives.
func TestNamesAfterPowerCut(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(500) {
		d, f := written(t)
		b := d.newFile("b", syscall.S_IFREG|0o600)
		for _, r := range []renaming{{"b": b}, {"a": nil, "c": f}} {
			if errno := d.rename(d.root, r); errno != 0 {
				t.Fatal(errno)
			}
		}
		d.Restore(rand.New(rand.NewPCG(seed, 0)))
		found := ""
		for _, name := range []string{"a", "b", "c"} {
			if d.root.names[name] != nil {
				found += name
			}
		}
		seen[found]++
	}
	if len(seen) != 3 || seen["a"] == 0 || seen["ab"] == 0 || seen["bc"] == 0 {
		t.Errorf("found %v", seen)
	}
}

// TestOperationsAfterPowerCut: operations fail after a power cut, and the one in progress may
// have taken effect.
func TestOperationsAfterPowerCut(t *testing.T) {
	kept := 0
	for seed := range uint64(100) {
		d, f := written(t)
		cut := make(chan Op, 1)
		d.CutWhen(func(o Op) bool { return o.Kind == Write }, func(o Op) { cut <- o })
		if errno := d.write(f, 0, []byte("x")); errno != syscall.EIO {
			t.Fatalf("the write during the cut: %v", errno)
		}
		if o := <-cut; o.File != "a" {
			t.Fatalf("cut during %+v", o)
		}
		if errno := d.sync(f); errno != syscall.EIO {
			t.Fatalf("a sync after the cut: %v", errno)
		}
		d.Restore(rand.New(rand.NewPCG(seed, 0)))
		if f.data[0] == 'x' {
			kept++
		}
		if errno := d.write(f, 0, []byte("y")); errno != 0 {
			t.Fatalf("a write after Restore: %v", errno)
		}
	}
	if kept == 0 || kept == 100 {
		t.Errorf("the write in progress survived %d of 100 times", kept)
	}
}

func TestDiskFull(t *testing.T) {
	d, f := written(t)
	if errno := d.write(f, 0, make([]byte, 1<<20)); errno != 0 {
		t.Errorf("a write that fits: %v", errno)
	}
	if errno := d.write(f, 1<<20, []byte("x")); errno != syscall.ENOSPC {
		t.Errorf("a write that does not fit: %v, want ENOSPC", errno)
	}
}
