//go:build unix

package server

import "syscall"

// fileLimit returns the maximum number of open files of this process.
func fileLimit() int64 {
	var limit syscall.Rlimit
	// The Go runtime has already raised the soft limit to the hard one.
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<32 {
		return 1 << 32
	}
	return int64(limit.Cur) // Cur is signed on some systems
}
