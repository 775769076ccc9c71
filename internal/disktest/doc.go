// Package disktest is a file system in memory that loses power when a test says so. It
// is for tests: a program runs on it through FUSE, which needs Linux and root.
//
// The file system remembers what was synced. When the power is cut, everything else is
// at risk: of each file, any part of what was written since its last sync may be there,
// page by page, in any order, and pages may be torn; of each directory, the last changes
// of names may be missing. This is what POSIX allows, and more than any one file system
// does.
//
// A disk can also be full, or fail without losing power ([Disk.Fail]).
package disktest
