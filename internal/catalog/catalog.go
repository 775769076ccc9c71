package catalog

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
)

const (
	// blockSize is how many bytes a block holds before the next one is begun. It
	// bounds what one create can cause to be copied or compressed again.
	blockSize = 128 << 10
	// extentSize is how many bytes of blocks lie next to each other in memory,
	// so that they can be written by one system call.
	extentSize = 4 << 20
	// extentSlack lets the block that fills an extent be larger than blockSize
	// by its last element: the longest texts, escaped, take less than half of it.
	extentSlack = blockSize + 128<<10
)

// Catalog holds every category, encoded. Use [New]. It is safe for concurrent
// use.
type Catalog struct {
	dataset string
	current atomic.Pointer[Snapshot]

	mu       sync.Mutex
	sealed   []*block        // guarded by mu; shared with snapshots, which never look past their own length
	extents  [][]byte        // guarded by mu; the sealed blocks' bytes in long pieces; never changed, only replaced
	open     []byte          // guarded by mu; shared like sealed; behind the last extent in memory, if there is one
	size     int64           // guarded by mu; bytes in sealed and open
	count    int64           // guarded by mu
	revision petcat.Revision // guarded by mu
}

// New returns an empty catalog. The dataset's name becomes part of every ETag,
// so that the same revision number of another data set, such as a restored
// backup, is not taken for the same list.
func New(dataset string) *Catalog {
	c := &Catalog{dataset: dataset}
	c.publish()
	return c
}

// Current returns the list as it is now, which is never out of date: the age is
// 0.
func (c *Catalog) Current(context.Context) (list *Snapshot, age time.Duration, err error) {
	return c.current.Load(), 0, nil
}

// Count returns how many categories the list has.
func (c *Catalog) Count() int64 { return c.current.Load().Count() }

// Load fills an empty catalog from a store.
func (c *Catalog) Load(ctx context.Context, store interface {
	EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error
},
) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := store.EachCategory(ctx, c.append)
	c.publish()
	return err
}

// Apply adds what was created, in the order of the revisions. What the catalog
// has already is passed over, so that handing over the same change twice does
// no harm.
func (c *Catalog) Apply(created []petcat.RevisedCategory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, category := range created {
		if err := c.append(category); err != nil {
			// The domain let nothing pass that cannot be encoded; to go on
			// would be to serve a list that lacks a durable category.
			panic(err)
		}
	}
	c.publish()
}

// append encodes one category behind the others. The caller holds mu.
func (c *Catalog) append(category petcat.RevisedCategory) error {
	if category.Revision <= c.revision {
		return nil
	}
	// A block is sealed as soon as it is full, so an element is never split,
	// and a block is larger than blockSize only by its last element.
	if len(c.open) >= blockSize {
		c.seal()
	}
	before := len(c.open)
	separator := byte(',')
	if c.count == 0 {
		separator = '['
	}
	encoded, err := AppendCategory(append(c.open, separator), category.Category)
	if err != nil {
		return fmt.Errorf("catalog: category %d: %w", category.ID, err)
	}
	c.open = encoded
	c.size += int64(len(c.open) - before)
	c.count++
	c.revision = category.Revision
	return nil
}

// seal closes the open block, and makes it a part of the last extent. The caller
// holds mu.
func (c *Catalog) seal() {
	var previous *block
	if len(c.sealed) > 0 {
		previous = c.sealed[len(c.sealed)-1]
	}
	extents := slices.Clone(c.extents) // snapshots hold the old one
	last := len(extents) - 1
	if last >= 0 && follows(c.open, extents[last]) {
		extents[last] = extents[last][:len(extents[last])+len(c.open)]
	} else {
		last++
		extents = append(extents, append(make([]byte, 0, extentSize+extentSlack), c.open...))
	}
	extent := extents[last]
	start := len(extent) - len(c.open)
	c.sealed = append(c.sealed, newBlock(extent[start:len(extent):len(extent)], previous))
	c.extents = extents
	c.open = nil
	if len(extent) < extentSize {
		c.open = extent[len(extent):]
	}
}

// follows reports whether a block lies behind an extent in the same array, where
// seal put its beginning unless the extent was full.
func follows(open, extent []byte) bool {
	behind := extent[len(extent):cap(extent)]
	return len(open) > 0 && len(behind) >= len(open) && &behind[0] == &open[0]
}

// publish makes what was appended visible. The caller holds mu, except New.
func (c *Catalog) publish() {
	c.current.Store(&Snapshot{
		dataset:  c.dataset,
		revision: c.revision,
		count:    c.count,
		size:     c.size,
		sealed:   c.sealed,
		extents:  c.extents,
		open:     c.open,
	})
}
