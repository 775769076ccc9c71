//go:build !unix

package server

// fileLimit returns the maximum number of open files of this process. This system has no limit
// that a program can read.
func fileLimit() int64 { return 1 << 32 }
