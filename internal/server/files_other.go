//go:build !unix

package server

// fileLimit returns the maximum number of open files of this process. A program cannot read this system's
// limit.
func fileLimit() int64 { return 1 << 32 }
