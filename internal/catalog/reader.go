package catalog

import (
	"slices"
	"sync"

	"github.com/petcat-api/petcat"
)

// readers bounds the old blocks that slow readers keep in memory. A reader of a snapshot keeps all of its
// blocks, also those that changes have replaced since. Without a bound, one account that edits its
// categories and reads the list slowly could fill the memory.
type readers struct {
	mu    sync.Mutex
	limit int64    // of kept, 0 for none
	kept  int64    // the sum of all bytes of reads; guarded by mu
	reads []*reads // by ascending revision; guarded by mu
}

// reads are the readers of one snapshot.
type reads struct {
	revision petcat.Revision
	cuts     map[*func()]struct{} // of the readers
	tail     int64                // size of the open elements
	blocks   []replaced           // that no later reader keeps
	bytes    int64                // that only these readers keep: of blocks, and of tail if the snapshot is old
}

// replaced is a block that is not in the list any more.
type replaced struct {
	since petcat.Revision // of the first snapshot with the block
	bytes int64
}

// BoundReaders bounds the bytes that the readers of old lists keep, uncompressed. The readers of the
// oldest list are cut off first. Call it before the catalog is used concurrently.
func (c *Catalog) BoundReaders(bytes int64) { c.readers.limit = bytes }

// Read registers a reader of a list, until it calls done. cut aborts the reader, when others need the
// memory. It is called at most once, and not after done. It must not wait.
func (s *Snapshot) Read(cut func()) (done func()) {
	if len(s.sealed) == 0 { // it keeps no more than a small response
		return func() {}
	}
	r := s.readers
	r.mu.Lock()
	defer r.mu.Unlock()
	i, found := slices.BinarySearchFunc(r.reads, s.revision, func(g *reads, revision petcat.Revision) int {
		return int(g.revision - revision)
	})
	if !found {
		r.reads = slices.Insert(r.reads, i, &reads{
			revision: s.revision,
			cuts:     make(map[*func()]struct{}),
			tail:     int64(len(s.open.data)),
		})
	}
	group := r.reads[i]
	group.cuts[&cut] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(group.cuts, &cut)
		if len(group.cuts) == 0 {
			r.end(group)
		}
	}
}

// end removes the readers of a snapshot. The blocks that earlier readers also keep now belong only to them.
// The caller must hold mu.
func (r *readers) end(group *reads) {
	i := slices.Index(r.reads, group)
	if i < 0 { // they were cut off
		return
	}
	r.reads = slices.Delete(r.reads, i, i+1)
	r.kept -= group.bytes
	for _, b := range group.blocks {
		r.keep(i-1, b)
	}
}

// keep adds a block to the readers with an index, if they read a snapshot with it. The caller must hold
// mu.
func (r *readers) keep(i int, b replaced) {
	if i < 0 || r.reads[i].revision < b.since {
		return
	}
	group := r.reads[i]
	group.blocks = append(group.blocks, b)
	group.bytes += b.bytes
	r.kept += b.bytes
}

// replace records that a new snapshot lacks blocks of the one before it, and cuts off readers if they
// keep too much.
func (r *readers) replace(blocks []*block) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reads) == 0 {
		return
	}
	last := r.reads[len(r.reads)-1]
	last.bytes += last.tail
	r.kept += last.tail
	last.tail = 0
	for _, b := range blocks {
		r.keep(len(r.reads)-1, replaced{b.since, int64(len(b.data))})
	}
	for r.limit > 0 && r.kept > r.limit {
		oldest := r.reads[0]
		r.end(oldest)
		for cut := range oldest.cuts {
			(*cut)()
		}
	}
}
