package disktest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount mounts the disk at a directory until unmount is called. Unmount it before Restore, so that the
// kernel's cache is empty after the power cut.
func (d *Disk) Mount(dir string) (unmount func() error, err error) {
	d.mu.Lock()
	root := &node{disk: d, file: d.root}
	d.mu.Unlock()
	server, err := fs.Mount(dir, root, &fs.Options{
		MountOptions: fuse.MountOptions{
			DirectMountStrict: true, DirectMountFlags: syscall.MS_NOSUID | syscall.MS_NODEV,
			FsName: "disktest", Name: "disktest", DisableXAttrs: true, MaxWrite: 1 << 17,
		},
		RootStableAttr: &fs.StableAttr{Mode: syscall.S_IFDIR, Ino: root.file.id},
	})
	if err != nil {
		return nil, fmt.Errorf("disktest: mount: %w", err)
	}
	return server.Unmount, nil
}

// node is a file as the kernel sees it.
type node struct {
	fs.Inode
	disk *Disk
	file *file
}

var (
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeLinker    = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

// attr returns the file's attributes. The caller holds mu.
func (n *node) attr(out *fuse.Attr) {
	f := n.file
	out.Ino, out.Mode, out.Size, out.Nlink = f.id, f.mode, uint64(len(f.data)), f.links
	out.Blksize, out.Blocks = pageSize, (out.Size+511)/512
	out.Mtime, out.Mtimensec = uint64(f.mtime/1e9), uint32(f.mtime%1e9)
	out.Ctime, out.Ctimensec, out.Atime, out.Atimensec = out.Mtime, out.Mtimensec, out.Mtime, out.Mtimensec
}

// child returns the node of a file. The caller holds mu.
func (n *node) child(ctx context.Context, f *file, out *fuse.EntryOut) *fs.Inode {
	c := &node{disk: n.disk, file: f}
	c.attr(&out.Attr)
	return n.NewInode(ctx, c, fs.StableAttr{Mode: f.mode & syscall.S_IFMT, Ino: f.id})
}

// Getattr implements [fs.NodeGetattrer].
func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if n.disk.dead {
		return syscall.EIO
	}
	n.attr(&out.Attr)
	return 0
}

// Setattr implements [fs.NodeSetattrer] for sizes and modes.
func (n *node) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if errno := n.disk.resize(n.file, int64(size)); errno != 0 {
			return errno
		}
	}
	if mode, ok := in.GetMode(); ok {
		n.disk.mu.Lock()
		n.file.mode = n.file.mode&syscall.S_IFMT | mode&^syscall.S_IFMT
		n.disk.mu.Unlock()
	}
	return n.Getattr(ctx, h, out)
}

// Lookup implements [fs.NodeLookuper].
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	f := n.file.names[name]
	switch {
	case n.disk.dead:
		return nil, syscall.EIO
	case f == nil:
		return nil, syscall.ENOENT
	}
	return n.child(ctx, f, out), 0
}

// Readdir implements [fs.NodeReaddirer].
func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if n.disk.dead {
		return nil, syscall.EIO
	}
	var entries []fuse.DirEntry
	for _, name := range slices.Sorted(maps.Keys(n.file.names)) {
		entries = append(entries, fuse.DirEntry{Name: name, Mode: n.file.names[name].mode, Ino: n.file.names[name].id})
	}
	return fs.NewListDirStream(entries), 0
}

// Create implements [fs.NodeCreater].
func (n *node) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	f := n.disk.newFile(name, syscall.S_IFREG|mode&0o7777)
	if errno := n.disk.rename(n.file, renaming{name: f}); errno != 0 {
		return nil, nil, 0, errno
	}
	return n.child(ctx, f, out), nil, 0, 0
}

// Mkdir implements [fs.NodeMkdirer].
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	f := n.disk.newFile(name, syscall.S_IFDIR|mode&0o7777)
	if errno := n.disk.rename(n.file, renaming{name: f}); errno != 0 {
		return nil, errno
	}
	return n.child(ctx, f, out), 0
}

// Link implements [fs.NodeLinker].
func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if n.file.names[name] != nil {
		return nil, syscall.EEXIST
	}
	f := target.(*node).file // all nodes are ours
	if errno := n.disk.rename(n.file, renaming{name: f}); errno != 0 {
		return nil, errno
	}
	f.links++
	return n.child(ctx, f, out), 0
}

// Unlink implements [fs.NodeUnlinker].
func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	f := n.file.names[name]
	if f == nil {
		return syscall.ENOENT
	}
	errno := n.disk.rename(n.file, renaming{name: nil})
	if errno == 0 {
		f.links--
	}
	return errno
}

// Rmdir implements [fs.NodeRmdirer].
func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	n.disk.mu.Lock()
	f := n.file.names[name]
	full := f != nil && len(f.names) > 0
	n.disk.mu.Unlock()
	if full {
		return syscall.ENOTEMPTY
	}
	return n.Unlink(ctx, name)
}

// renameNoReplace is a flag of renameat2: the new name must not exist.
const renameNoReplace = 1

// Rename implements [fs.NodeRenamer]. Between directories it is not atomic.
func (n *node) Rename(_ context.Context, name string, newParent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	to := newParent.(*node) // all nodes are ours
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	f := n.file.names[name]
	switch {
	case f == nil:
		return syscall.ENOENT
	case flags&^renameNoReplace != 0:
		return syscall.EINVAL
	case flags == renameNoReplace && to.file.names[newName] != nil:
		return syscall.EEXIST
	case to.file == n.file:
		return n.disk.rename(n.file, renaming{name: nil, newName: f})
	}
	if errno := n.disk.rename(to.file, renaming{newName: f}); errno != 0 {
		return errno
	}
	return n.disk.rename(n.file, renaming{name: nil})
}

// Open implements [fs.NodeOpener].
func (n *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if n.disk.dead {
		return nil, 0, syscall.EIO
	}
	return nil, 0, 0
}

// Read implements [fs.NodeReader].
func (n *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if n.disk.dead {
		return nil, syscall.EIO
	}
	data := n.file.data
	if at >= int64(len(data)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(dest[:copy(dest, data[at:])]), 0
}

// Write implements [fs.NodeWriter].
func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	if errno := n.disk.write(n.file, at, data); errno != 0 {
		return 0, errno
	}
	return uint32(len(data)), 0
}

// Fsync implements [fs.NodeFsyncer], for files and directories.
func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return n.disk.sync(n.file)
}

// Statfs implements [fs.NodeStatfser].
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	free := uint64(0)
	if used := n.disk.used(); used < n.disk.size {
		free = (n.disk.size - used) / pageSize
	}
	out.Bsize, out.Frsize, out.NameLen = pageSize, pageSize, 255
	out.Blocks, out.Bfree, out.Bavail = n.disk.size/pageSize, free, free
	out.Files, out.Ffree = 1<<20, 1<<20
	return 0
}
