// Package backup defines the file format of petcat backup: a logical copy of all
// data of a deployment that every store can write and read, so the same file
// restores a deployment where it was, and migrates it from SQLite to PostgreSQL or
// back (decision 0012).
//
// A store that can be backed up is a [Source]: it passes all rows as of one moment
// to a [Sink], in the order of [Kinds]. Sinks are [Writer], which writes a file, and
// [Checker], which reports inconsistent data. A store that can be restored is a
// [Target]: it takes the rows from a [Reader], all or none.
//
// The file is two lines that people can read, the rows, compressed, and a
// SHA-256 of everything before it:
//
//	petcat backup 2
//	{"petcat": ..., "taken_at": ..., "environment": ..., "rows": {...}, ...}
//
// It contains hashes of keys and names of customers, and no secret. Reading and
// writing take constant memory.
//
// The package refuses files that are truncated, altered, of another program or of a
// newer format: an [Error] says which. It knows no database; errors of a database
// are passed on unchanged.
package backup
