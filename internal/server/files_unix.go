//go:build unix

package server

import "syscall"

// fileLimit returns how many files this process may have open.
func fileLimit() int64 {
	var limit syscall.Rlimit
	// The runtime has raised it as far as it may go.
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<32 {
		return 1 << 32
	}
	return int64(limit.Cur) // it is signed on some systems
}
