// Package catalog is the read model of the API: the list of all categories, already
// encoded, in id order. A list request takes the current [Snapshot] and writes its
// bytes; it queries no database and encodes nothing.
//
// The bytes are kept in blocks. A create appends to the last block and publishes a
// new snapshot; full blocks never change again, so a create never encodes or
// compresses the whole list again. Readers hold an immutable snapshot and take no
// lock.
//
// The package does not know where categories come from: the store hands over each
// commit before it acknowledges it, so every list contains every create that was
// acknowledged before. When the store is unavailable, the catalog still returns the
// list in memory; its caller decides for how long to serve it.
package catalog
