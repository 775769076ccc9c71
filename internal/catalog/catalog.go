// Package catalog is the read model of the API: the list of all categories, already
// encoded, in id order. A list request takes the current [Snapshot] and writes its
// bytes; it queries no database and encodes nothing. A page and a single category are
// cut out of the same bytes.
//
// The bytes are kept in blocks, which never change. A create appends to the last one,
// which is still open; a change or a deletion replaces the block that holds the
// category. Either publishes a new snapshot, so no write encodes or compresses the
// whole list again. Readers hold an immutable snapshot and take no lock.
//
// Every list contains every write that was acknowledged before it was asked for: an
// embedded store hands over each commit before it acknowledges it; a store that several
// nodes share is asked for what is new, once for all lists that wait ([Replica]). While
// that store is unavailable, a Replica returns the list in memory, for
// [ReplicaOptions.MaxStaleness] at most.
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

// blockSize is how many bytes a block holds before the next one is begun. It
// bounds what one write can cause to be copied or compressed again.
const blockSize = 128 << 10

// Catalog holds every category, encoded. Use [New]. It is safe for concurrent
// use.
type Catalog struct {
	dataset string
	current atomic.Pointer[Snapshot]

	mu   sync.Mutex
	list list // guarded by mu
}

// New returns an empty catalog. The dataset's name becomes part of every ETag of the
// list, so that the same revision number of another data set, such as a restored
// backup, is not taken for the same list.
func New(dataset string) *Catalog {
	c := &Catalog{dataset: dataset}
	c.current.Store(newSnapshot(dataset, list{}))
	return c
}

// Current returns the list as it is now, which is never out of date: the age is
// 0.
func (c *Catalog) Current(context.Context, petcat.Revision) (list *Snapshot, age time.Duration, err error) {
	return c.current.Load(), 0, nil
}

// Count returns how many categories the list has.
func (c *Catalog) Count() int64 { return c.current.Load().Count() }

// source is a store to load a catalog from.
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
		return c.list.append(category.Category)
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
		c.list.apply(change)
	}
	c.publish()
}

// publish makes the changes of the list visible to readers. The caller holds mu.
func (c *Catalog) publish() {
	if c.list.revision != c.current.Load().revision { // else the compressed forms stay
		c.current.Store(newSnapshot(c.dataset, c.list))
	}
}

// list is the list as of one revision. A copy stays what it is while the original changes:
// they share only what is never changed in place.
type list struct {
	revision petcat.Revision // of the last change
	count    int64
	bytes    int64    // of the sealed and the open elements
	sealed   []*block // none is empty
	open     elements // those behind the sealed ones; empty only if the list is
}

// apply makes a change that the list does not have.
func (l *list) apply(change petcat.RevisedCategory) {
	if change.Revision <= l.revision {
		return
	}
	var err error
	switch {
	case change.Deleted:
		err = l.edit(change.ID, nil)
	case l.open.last() < change.ID:
		err = l.append(change.Category)
	default:
		err = l.edit(change.ID, &change.Category)
	}
	if err != nil {
		// The domain accepts no category that cannot be encoded. Without it, the
		// list would lack a durable category.
		panic(err)
	}
	l.revision = change.Revision
}

// append encodes one category at the end of the list.
func (l *list) append(category petcat.Category) error {
	if len(l.open.data) >= blockSize {
		l.sealed = append(l.sealed, newBlock(l.open.clone()))
		l.open = elements{}
	}
	before := len(l.open.data)
	data, err := AppendCategory(l.open.data, category)
	if err != nil {
		return fmt.Errorf("catalog: category %d: %w", category.ID, err)
	}
	l.open = elements{append(data, ','), append(l.open.starts, uint32(before))} // #nosec G115 -- a block is far smaller
	l.bytes += int64(len(l.open.data) - before)
	l.count++
	return nil
}

// edit replaces the category with this id, inserts it if there is none, or removes it if the
// new one is nil.
func (l *list) edit(id petcat.CategoryID, category *petcat.Category) error {
	at := min(l.behind(id-1), len(l.sealed))
	before := l.stretch(at)
	i, found := before.find(id)
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
	after := before.splice(i, found, object)
	l.bytes += int64(len(after.data) - len(before.data))
	l.count += int64(len(after.starts) - len(before.starts))
	if at < len(l.sealed) {
		l.sealed = slices.Concat(l.sealed[:at], after.blocks(), l.sealed[at+1:])
	} else if l.open = after; len(after.starts) == 0 && at > 0 {
		l.open, l.sealed = l.sealed[at-1].clone(), slices.Clone(l.sealed[:at-1])
	}
	return nil
}
