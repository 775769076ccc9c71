package socket

import (
	"syscall"
	"time"
)

// Options of TCP that package syscall does not name.
const (
	tcpUserTimeout  = 0x12 // TCP_USER_TIMEOUT, milliseconds
	tcpNotSentLowat = 0x19 // TCP_NOTSENT_LOWAT, bytes
)

// endStalled sets the options on a listener; its connections inherit them.
func endStalled(after time.Duration) func(network, address string, raw syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			// A system that imitates Linux may lack them.
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(after.Milliseconds()))
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, unsentBytes)
		})
	}
}
