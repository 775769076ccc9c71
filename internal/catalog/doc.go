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
