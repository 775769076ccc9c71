package disktest

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMounted: programs see a file system.
func TestMounted(t *testing.T) {
	d, dir := New(1<<20), t.TempDir()
	unmount := mount(t, d, dir)
	path := filepath.Join(dir, "sub", "a")
	must(t, os.Mkdir(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path+".tmp", []byte("hello"), 0o600))
	must(t, os.Rename(path+".tmp", path))
	must(t, os.Link(path, path+"2"))
	must(t, os.Remove(path))
	must(t, os.Truncate(path+"2", 4))
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 || entries[0].Name() != "a2" {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	if text, err := os.ReadFile(path + "2"); err != nil || string(text) != "hell" {
		t.Errorf("read %q, %v", text, err)
	}
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("too large a file: %v", err)
	}
	must(t, unmount())
	d.Restore(rand.New(rand.NewPCG(rand.Uint64(), 0)))
	unmount = mount(t, d, dir)
	if _, err := os.ReadDir(dir); err != nil {
		t.Error(err)
	}
	must(t, unmount())
}

// TestErrors: the disk fails when it is told to.
func TestErrors(t *testing.T) {
	d, dir := New(1<<20), t.TempDir()
	mount(t, d, dir)
	f, err := os.Create(filepath.Join(dir, "a"))
	must(t, err)
	defer f.Close()
	d.Fail(func(o Op) syscall.Errno {
		if o.Kind == Sync && o.File == "a" && o.Nth == 2 {
			return syscall.EIO
		}
		return 0
	})
	must(t, f.Sync())
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("the second sync: %v", err)
	}
	must(t, f.Sync())
}

// TestReadOnly: a disk that is read-only takes nothing and shows what it has.
func TestReadOnly(t *testing.T) {
	d, dir := New(1<<20), t.TempDir()
	mount(t, d, dir)
	path := filepath.Join(dir, "a")
	must(t, os.WriteFile(path, []byte("hello"), 0o600))
	d.Fail(func(Op) syscall.Errno { return syscall.EROFS })
	for _, flags := range []int{os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE} {
		if f, err := os.OpenFile(path, flags, 0o600); !errors.Is(err, syscall.EROFS) {
			t.Errorf("opened with %#x: %v", flags, err)
			_ = f.Close()
		}
	}
	if f, err := os.Create(path + "2"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("made: %v", err)
		_ = f.Close()
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "hello" {
		t.Errorf("read %q, %v", text, err)
	}
	d.Fail(nil)
}

// mount gives a disk to the system, or skips the test where that cannot be done.
func mount(t *testing.T, d *Disk, dir string) (unmount func() error) {
	t.Helper()
	unmount, err := d.Mount(dir)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unmount() })
	return unmount
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
