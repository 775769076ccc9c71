// Package catalog is the read model of the API: the encoded list of all categories in id order. A
// list request writes the bytes of the current [Snapshot], without a query and without encoding.
// Pages and single categories are slices of the same bytes.
//
// The bytes are in immutable blocks. A create appends to the last block, which is still open; a
// change or deletion replaces the block of the category. Both publish a new snapshot, so no write
// encodes or compresses the whole list again. Readers use an immutable snapshot without a lock.
//
// A list contains every write that was acknowledged before the list was requested. SQLite passes
// each commit to the catalog before it acknowledges the write; only writes by commands appear up to a
// second later. On PostgreSQL, a [Replica] reads the changes, with one query for all waiting lists. While
// the store is unavailable, a Replica returns the list in memory, for up to
// [ReplicaOptions.MaxStaleness].
package catalog

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/petcat-api/petcat"
)

// blockSize is the size in bytes after which a block is closed. It bounds the bytes that a write
// copies or compresses again.
const blockSize = 128 << 10

// Catalog holds all categories, encoded. It is safe for concurrent use. Use [New].
type Catalog struct {
	dataset string
	current atomic.Pointer[Snapshot]
	asked   asked
	readers readers

	mu       sync.Mutex
	list     list                                // guarded by mu
	holdings map[petcat.AccountID]petcat.Storage // by account; guarded by mu
	all      petcat.Storage                      // the sum of holdings; guarded by mu
}

// New returns an empty catalog. The ETags of the list contain the dataset name, so that the same
// revision number of another dataset, such as a restored backup, has a different ETag.
func New(dataset string) *Catalog {
	c := &Catalog{
		dataset:  dataset,
		holdings: make(map[petcat.AccountID]petcat.Storage),
	}
	c.current.Store(c.snapshot())
	return c
}

// Current returns the current list. Its age is always 0.
func (c *Catalog) Current(context.Context, petcat.Revision) (list *Snapshot, age time.Duration, err error) {
	return c.current.Load(), 0, nil
}

// Release frees the compressed lists that have not been requested since the last call. Call it every
// few minutes.
func (c *Catalog) Release() {
	for _, e := range []Encoding{Gzip, Zstd} {
		if !c.asked[e].Swap(false) {
			c.current.Load().release(e)
		}
	}
}

// Count returns the number of categories.
func (c *Catalog) Count() int64 { return c.current.Load().Count() }

// Holdings returns what an account and all together store, in the categories of this catalog.
func (c *Catalog) Holdings(account petcat.AccountID) petcat.Holdings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return petcat.Holdings{
		Account: c.holdings[account],
		All:     c.all,
	}
}

// hold adds to what an account stores. The caller must hold mu.
func (c *Catalog) hold(account petcat.AccountID, added petcat.Storage) {
	c.holdings[account] = c.holdings[account].Plus(added)
	c.all = c.all.Plus(added)
}

// source is a store with categories.
type source interface {
	EachCategory(ctx context.Context, fn func(petcat.RevisedCategory) error) error
}

// Load fills an empty catalog from a store.
func (c *Catalog) Load(ctx context.Context, from source) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := from.EachCategory(ctx, func(category petcat.RevisedCategory) error {
		c.list.revision = max(c.list.revision, category.Revision)
		if category.Deleted {
			return nil
		}
		c.hold(category.Account, category.Stored())
		return c.list.append(category)
	})
	c.publish()
	return err
}

// Apply applies and publishes changes, in the order of their revisions. It skips changes that the
// catalog already has.
func (c *Catalog) Apply(changes []petcat.RevisedCategory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range changes {
		c.apply(change)
	}
	c.publish()
}

// apply applies a change unless the catalog has it already. The caller must hold mu.
func (c *Catalog) apply(change petcat.RevisedCategory) {
	if change.Revision <= c.list.revision {
		return
	}
	var stored petcat.Storage
	if !change.Deleted {
		stored = change.Stored()
	}
	c.hold(change.Account, stored.Minus(c.list.stored(change.ID)))
	c.list.apply(change)
}

// publish makes the changes of the list visible to readers. The caller must hold mu.
func (c *Catalog) publish() {
	if c.list.revision != c.current.Load().revision { // else keep the compressed bytes
		c.readers.replace(c.list.replaced) // before the new list is read
		c.current.Store(c.snapshot())
	}
	c.list.replaced = nil
}

// snapshot returns the list as a snapshot. The caller must hold mu.
func (c *Catalog) snapshot() *Snapshot {
	l := c.list
	l.replaced = nil
	return newSnapshot(c.dataset, l, &c.asked, &c.readers)
}

// list is the list at one revision. A copy is independent of the original: they share only data
// that never changes.
type list struct {
	revision petcat.Revision // of the last change
	count    int64
	sealed   []*block // never empty
	open     elements // after the sealed blocks; empty only if the list is empty
	replaced []*block // by changes since the last snapshot
}

// stored returns the storage of the category with an id, which is zero if there is none.
func (l *list) stored(id petcat.CategoryID) petcat.Storage {
	if l.open.last() < id { // it is new
		return petcat.Storage{}
	}
	e := l.segment(l.segmentAfter(id - 1))
	i, found := e.find(id)
	if !found {
		return petcat.Storage{}
	}
	var texts struct {
		Name        string  `json:"name"`
		Description *string `json:"description"`
	}
	if err := json.Unmarshal(e.object(i), &texts); err != nil {
		panic(err) // the list has encoded it
	}
	return petcat.Category{Name: texts.Name, Description: texts.Description}.Stored()
}

// apply applies a change that the list does not include yet.
func (l *list) apply(change petcat.RevisedCategory) {
	l.revision = change.Revision
	var err error
	switch {
	case change.Deleted:
		err = l.edit(change.ID, nil)
	case l.open.last() < change.ID:
		err = l.append(change)
	default:
		err = l.edit(change.ID, &change)
	}
	if err != nil {
		// The domain rejects categories that cannot be encoded. The list must not lack a
		// stored category.
		panic(err)
	}
}

// append encodes a category at the end of the list.
func (l *list) append(category petcat.RevisedCategory) error {
	if len(l.open.data) >= blockSize {
		l.sealed = append(l.sealed, newBlock(l.open.clone(), l.revision))
		const room = blockSize + blockSize/8 // the last category exceeds blockSize
		l.open = elements{data: make([]byte, 0, room)}
	}
	before := len(l.open.data)
	data, err := AppendCategory(l.open.data, category.Category)
	if err != nil {
		return fmt.Errorf("catalog: category %d: %w", category.ID, err)
	}
	l.open = elements{
		data:   append(data, ','),
		starts: append(l.open.starts, uint32(before)), // #nosec G115 -- a block is far smaller
		owners: append(l.open.owners, category.Account),
	}
	l.count++
	return nil
}

// edit replaces or inserts the category with an id, or removes it if category is nil.
func (l *list) edit(id petcat.CategoryID, category *petcat.RevisedCategory) error {
	at := min(l.segmentAfter(id-1), len(l.sealed))
	before := l.segment(at)
	i, found := before.find(id)
	if category == nil && !found {
		return nil
	}
	var object []byte
	var owner petcat.AccountID
	if category != nil {
		owner = category.Account
		var err error
		if object, err = AppendCategory(nil, category.Category); err != nil {
			return fmt.Errorf("catalog: category %d: %w", id, err)
		}
	}
	after := before.splice(i, found, object, owner)
	l.count += int64(len(after.starts) - len(before.starts))
	if at < len(l.sealed) {
		l.replaced = append(l.replaced, l.sealed[at])
		l.sealed = slices.Concat(l.sealed[:at], after.blocks(l.revision), l.sealed[at+1:])
	} else if l.open = after; len(after.starts) == 0 && at > 0 {
		l.replaced = append(l.replaced, l.sealed[at-1])
		l.open, l.sealed = l.sealed[at-1].clone(), slices.Clone(l.sealed[:at-1])
	}
	return nil
}
