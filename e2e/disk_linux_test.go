package e2e

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"petcat/internal/disktest"
)

// disk returns the path of a file system of its own, of so many bytes. Only
// root may make one; for others the test is skipped.
func disk(t *testing.T, bytes int64) string {
	t.Helper()
	path := t.TempDir()
	diskAt(t, path, bytes)
	return path
}

// diskAt makes a directory one.
func diskAt(t *testing.T, path string, bytes int64) {
	t.Helper()
	err := unix.Mount("petcat-test", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=700,size="+strconv.FormatInt(bytes, 10))
	if err != nil {
		skipDisk(t, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", path, err)
		}
	})
}

// readOnlyDisk returns a directory that nobody can write to, root included, or
// "" where none can be made.
func readOnlyDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a read-only disk")
	}
	path := disk(t, 1<<20)
	must(t, unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	return path
}

// mountDisk gives a disk to the system, until unmount is called.
func mountDisk(t *testing.T, d *disktest.Disk, dir string) (unmount func() error) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skipf("a disk of its own is needed, and the system has no FUSE: %v", err)
	}
	unmount, err := d.Mount(dir)
	if err != nil {
		skipDisk(t, err)
	}
	return unmount
}

// skipDisk gives up. Root has no excuse where nothing may be missing.
func skipDisk(t *testing.T, err error) {
	t.Helper()
	if os.Getuid() == 0 && os.Getenv("PETCAT_TEST_REQUIRE") != "" {
		t.Fatalf("a disk of its own is needed, and root cannot mount one here: %v", err)
	}
	t.Skipf("a disk of its own is needed, and only root may mount one: %v", err)
}
