package disktest

import (
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// Kind is a kind of operation that changes or syncs data.
type Kind string

// The kinds.
const (
	Write    Kind = "write"
	Resize   Kind = "resize"
	Sync     Kind = "sync"
	Name     Kind = "name" // a name is created, changed or removed
	SyncName Kind = "sync of names"
)

// Op is one operation.
type Op struct {
	Kind Kind
	File string // its name at creation, without the directory
}

// Disk is a file system. Use [New] and [Disk.Mount].
type Disk struct {
	mu    sync.Mutex
	root  *file                  // guarded by mu
	files uint64                 // number of files created; guarded by mu
	size  uint64                 // capacity in bytes; guarded by mu
	dead  bool                   // the power is cut; guarded by mu
	cut   func(Op) bool          // guarded by mu; nil: never
	onCut func(Op)               // guarded by mu
	fail  func(Op) syscall.Errno // guarded by mu; nil: never
}

// New returns an empty disk. size is its capacity in bytes.
func New(size uint64) *Disk {
	d := &Disk{size: size}
	d.root = d.newFile("", syscall.S_IFDIR|0o755)
	d.root.syncedNames = make(map[string]*file)
	return d
}

func (d *Disk) newFile(name string, mode uint32) *file {
	d.files++
	f := &file{id: d.files, name: name, mode: mode, links: 1, mtime: time.Now().UnixNano()}
	if mode&syscall.S_IFMT == syscall.S_IFDIR {
		f.names, f.syncedNames = make(map[string]*file), make(map[string]*file)
	}
	return f
}

// CutWhen cuts the power during the first operation for which when returns true, and then calls
// done, which must not wait for the disk. All later operations fail. If when is nil, the power
// is never cut.
func (d *Disk) CutWhen(when func(Op) bool, done func(Op)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut, d.onCut = when, done
}

// Fail makes operations fail with the error that fn returns for them, if any. nil resets it.
func (d *Disk) Fail(fn func(Op) syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = fn
}

// Restore turns the power back on. A random part of the unsynced changes survives. The disk
// must not be mounted.
func (d *Disk) Restore(random *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	keep := random.Float64()
	switch random.IntN(4) {
	case 0:
		keep = 0
	case 1:
		keep = 1
	}
	d.root.survive(random, keep)
	d.dead, d.cut, d.onCut = false, nil, nil
}

// begin returns the error with which an operation must fail. cuts is true if the operation may
// have taken effect nevertheless. The caller holds mu.
func (d *Disk) begin(kind Kind, f *file) (errno syscall.Errno, cuts bool) {
	if d.dead {
		return syscall.EIO, false
	}
	op := Op{kind, f.name}
	if d.cut != nil && d.cut(op) {
		d.dead = true
		if d.onCut != nil {
			go d.onCut(op)
		}
		return syscall.EIO, true
	}
	if d.fail != nil {
		return d.fail(op), false
	}
	return 0, false
}

// used returns the total size of all files in bytes. The caller holds mu.
func (d *Disk) used() (sum uint64) {
	seen := make(map[*file]bool)
	var visit func(*file)
	visit = func(f *file) {
		if seen[f] {
			return
		}
		seen[f] = true
		sum += uint64(len(f.data))
		for _, child := range f.names {
			visit(child)
		}
	}
	visit(d.root)
	return sum
}

// grow returns an error if the disk is too small for a file that ends at end. The caller holds
// mu.
func (d *Disk) grow(f *file, end int64) syscall.Errno {
	if end > int64(len(f.data)) && d.used()+uint64(end)-uint64(len(f.data)) > d.size {
		return syscall.ENOSPC
	}
	return 0
}

// write writes to a file.
func (d *Disk) write(f *file, at int64, data []byte) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	errno, cuts := d.begin(Write, f)
	if errno == 0 {
		errno = d.grow(f, at+int64(len(data)))
	}
	if errno == 0 || cuts {
		f.write(at, data)
		f.mtime = time.Now().UnixNano()
	}
	return errno
}

func (d *Disk) resize(f *file, size int64) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	errno, cuts := d.begin(Resize, f)
	if errno == 0 {
		errno = d.grow(f, size)
	}
	if errno == 0 || cuts {
		f.resize(size)
	}
	return errno
}

// sync syncs a file, or a directory's names.
func (d *Disk) sync(f *file) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	kind := Sync
	if f.isDir() {
		kind = SyncName
	}
	errno, _ := d.begin(kind, f)
	if errno == 0 {
		f.sync()
	}
	return errno
}

// rename changes names in a directory.
func (d *Disk) rename(dir *file, r renaming) syscall.Errno {
	errno, cuts := d.begin(Name, dir)
	if errno == 0 || cuts {
		dir.rename(r)
	}
	return errno
}
