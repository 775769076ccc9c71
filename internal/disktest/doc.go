// Package disktest is an in-memory file system for tests that simulates power cuts. Programs
// use it through FUSE, which needs Linux and root.
//
// A power cut keeps synced data. Any subset of the pages written to a file since its last sync
// may survive, and pages may be torn. A directory may lose its latest name changes. POSIX
// allows all of this; no real file system is that bad.
//
// A disk can also be full, or fail without losing power ([Disk.Fail]).
package disktest
