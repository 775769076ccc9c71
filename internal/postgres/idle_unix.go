//go:build unix

package postgres

import (
	"net"
	"syscall"
)

// heard reports whether a network connection has a message to read, or was closed. It does not wait.
func heard(c net.Conn) bool {
	if encrypted, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = encrypted.NetConn()
	}
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	var next [1]byte
	var peeked error
	// Not raw.Read, which waits for the driver's read in the background after a slow write.
	err = raw.Control(func(fd uintptr) {
		_, _, peeked = syscall.Recvfrom(int(fd), next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return err != nil || peeked != syscall.EAGAIN && peeked != syscall.EINTR
}
