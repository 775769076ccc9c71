// Package backup is the form in which all data of a deployment leaves one store
// and enters another: a logical copy that every store writes and every store
// reads, so that the same file restores a deployment where it was and moves it
// from SQLite to PostgreSQL or back (decision 0012).
//
// A store that can be copied is a [Source]: it tells a [Sink] everything as of
// one moment, in the order of [Kinds]. Sinks are [Writer], which makes a file, and
// [Checker], which looks for what cannot be. A store that can be filled is a
// [Target]: it takes the rows from a [Reader], all or none.
//
// The file is two lines that people can read, the rows, compressed, and a
// SHA-256 of everything before it:
//
//	petcat backup 1
//	{"petcat": ..., "taken_at": ..., "environment": ..., "rows": {...}, ...}
//
// It holds hashes of keys and names of customers, and no secret. Neither way
// takes more memory for more rows.
//
// The package refuses files that are cut, altered, of another program or of a
// newer format: an [Error] says which. It knows no database; when the other end
// is away, its error passes as it is.
package backup
