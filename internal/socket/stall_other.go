//go:build !linux

package socket

import (
	"syscall"
	"time"
)

func endStalled(time.Duration) func(network, address string, raw syscall.RawConn) error { return nil }
