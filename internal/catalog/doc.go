// Package catalog is the read model of the API: the list of all categories,
// already encoded, in id order. A list request takes the current [Snapshot] and
// writes its bytes; it asks no database and encodes nothing.
//
// The bytes are kept in blocks. A create appends to the last block and
// publishes a new snapshot; full blocks never change again, so neither encoding
// nor compressing ever passes over the whole list for one create. Readers hold
// an immutable snapshot and take no lock.
//
// The package refuses to know where categories come from: the store hands over
// each commit before it acknowledges it, which is what makes every list show
// every create that was answered before. When the store is away, the catalog
// goes on answering from memory: whoever serves it decides for how long that is
// right.
package catalog
