//go:build !unix

package server

// fileLimit returns how many files this process may have open. This system has no limit
// that can be read.
func fileLimit() int64 { return 1 << 32 }
