// Package sqlite stores everything in one SQLite file: it provides connections,
// commits and migrations, and package store the operations.
//
// All writes go through one goroutine with one connection (writer.go),
// which commits whatever is waiting as one transaction: rows, revisions, idempotency
// keys and audit entries together, synced to the disk before any response. What the
// domain refuses is rolled back alone. Reads have connections of their own,
// which cannot write. Other processes, such as the command line, may open the same
// file at the same time.
//
// It refuses to open a file that is not a petcat database, is damaged, belongs to
// another environment or has a newer schema, and to run with weaker durability
// than it promises; an [openerror.Error] says which, and what to do.
//
// When the disk is full, read-only or locked for long, writes fail with
// service_unavailable and recover by themselves; a quota and a limit of the size of files
// are like a full disk. After an error of the disk itself, or of its sync, or when the file
// is no longer where it was, nothing is written any more: all writes fail, and
// [Store.Failed] tells the program to end, so that its next start begins with what is on
// the disk. errors.go says which error is which.
package sqlite
