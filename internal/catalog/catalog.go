package catalog

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
)

// blockSize is how many bytes a block holds before the next one is begun. It
// bounds what one write can cause to be copied or compressed again.
const blockSize = 128 << 10

// Catalog holds every category, encoded. Use [New]. It is safe for concurrent
// use.
type Catalog struct {
	dataset string
	current atomic.Pointer[Snapshot]

	mu       sync.Mutex
	sealed   []*block        // guarded by mu; none is empty; snapshots share them up to their own length, so only appending may happen in place
	open     elements        // guarded by mu; those behind the sealed ones; shared like them
	size     int64           // guarded by mu; bytes in sealed and open
	count    int64           // guarded by mu
	revision petcat.Revision // guarded by mu; of the last change
}

// New returns an empty catalog. The dataset's name becomes part of every ETag of the
// list, so that the same revision number of another data set, such as a restored
// backup, is not taken for the same list.
func New(dataset string) *Catalog {
	c := &Catalog{dataset: dataset}
	c.current.Store(&Snapshot{etags: newETags(dataset, 0)})
	return c
}

// Current returns the list as it is now, which is never out of date: the age is
// 0.
func (c *Catalog) Current(context.Context, petcat.Revision) (list *Snapshot, age time.Duration, err error) {
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
	err := store.EachCategory(ctx, func(category petcat.RevisedCategory) error {
		c.revision = max(c.revision, category.Revision)
		if category.Deleted {
			return nil
		}
		return c.append(category.Category)
	})
	c.publish()
	return err
}

// Apply makes and publishes changes: categories that were created, changed or deleted, in
// the order of the revisions. It skips changes that the catalog already has, so the same
// change may be handed over twice.
func (c *Catalog) Apply(changes []petcat.RevisedCategory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range changes {
		c.stage(change)
	}
	c.publish()
}

// stage makes a change, which readers see after publish. The caller holds mu.
func (c *Catalog) stage(change petcat.RevisedCategory) {
	if change.Revision <= c.revision {
		return
	}
	var err error
	switch {
	case change.Deleted:
		err = c.edit(change.ID, nil)
	case c.follows(change.ID):
		err = c.append(change.Category)
	default:
		err = c.edit(change.ID, &change.Category)
	}
	if err != nil {
		// The domain accepts no category that cannot be encoded. Without it, the
		// list would lack a durable category.
		panic(err)
	}
	c.revision = change.Revision
}

// follows reports whether an id is larger than all that the list has. The caller
// holds mu.
func (c *Catalog) follows(id petcat.CategoryID) bool {
	last := c.open
	if last.count() == 0 && len(c.sealed) > 0 {
		last = c.sealed[len(c.sealed)-1].elements
	}
	return last.count() == 0 || last.id(last.count()-1) < id
}

// append encodes one category at the end of the list. The caller holds mu.
func (c *Catalog) append(category petcat.Category) error {
	if len(c.open.data) >= blockSize {
		c.seal()
	}
	before := len(c.open.data)
	separator := byte(',')
	if c.count == 0 {
		separator = '['
	}
	data, err := AppendCategory(append(c.open.data, separator), category)
	if err != nil {
		return fmt.Errorf("catalog: category %d: %w", category.ID, err)
	}
	c.open = elements{data, append(c.open.starts, uint32(before+1))} // #nosec G115 -- a block is far smaller
	c.size += int64(len(data) - before)
	c.count++
	return nil
}

// seal makes the open elements a block. The caller holds mu.
func (c *Catalog) seal() {
	c.sealed = append(c.sealed, newBlock(elements{slices.Clone(c.open.data), slices.Clone(c.open.starts)}))
	c.open = elements{}
}

// edit replaces the category with this id, inserts it if there is none, or removes it if the
// new one is nil. The caller holds mu.
func (c *Catalog) edit(id petcat.CategoryID, category *petcat.Category) error {
	at := sort.Search(len(c.sealed), func(i int) bool { return c.sealed[i].last() >= id })
	stretch := c.open
	if at < len(c.sealed) {
		stretch = c.sealed[at].elements
	}
	i, found := stretch.find(id)
	if category == nil && !found {
		return nil
	}
	var object []byte
	if category != nil {
		var err error
		if object, err = AppendCategory(nil, *category); err != nil {
			return fmt.Errorf("catalog: category %d: %w", id, err)
		}
	}
	edited := stretch.splice(i, found, object)
	c.size += int64(len(edited.data) - len(stretch.data))
	c.count += int64(edited.count() - stretch.count())
	if at < len(c.sealed) {
		c.replace(at, edited)
	} else {
		c.open = edited
	}
	c.bracket()
	return nil
}

// replace replaces a block by its new elements: by no block if there are none, by two blocks
// if they are many. The caller holds mu.
func (c *Catalog) replace(at int, with elements) {
	var blocks []*block
	switch {
	case with.count() == 0:
	case len(with.data) > 2*blockSize && with.count() > 1:
		half := with.count() / 2
		first := elements{with.data[:with.end(half-1)], with.starts[:half]}
		blocks = []*block{newBlock(first), newBlock(with.from(half))}
	default:
		blocks = []*block{newBlock(with)}
	}
	c.sealed = slices.Concat(c.sealed[:at], blocks, c.sealed[at+1:])
}

// bracket makes sure that the list begins with its bracket, after its first element has
// changed. The caller holds mu.
func (c *Catalog) bracket() {
	first := c.open
	if len(c.sealed) > 0 {
		first = c.sealed[0].elements
	}
	if first.count() == 0 || first.data[0] == '[' {
		return
	}
	first.data = slices.Clone(first.data)
	first.data[0] = '['
	if len(c.sealed) > 0 {
		c.sealed = slices.Concat([]*block{newBlock(first)}, c.sealed[1:])
	} else {
		c.open = first
	}
}

// publish makes the staged changes visible to readers. The caller holds mu.
func (c *Catalog) publish() {
	if c.revision == c.current.Load().revision {
		return // so that the compressed forms of the snapshot stay
	}
	c.current.Store(&Snapshot{
		etags:    newETags(c.dataset, c.revision),
		revision: c.revision,
		count:    c.count,
		size:     c.size,
		sealed:   c.sealed,
		open:     c.open,
	})
}
