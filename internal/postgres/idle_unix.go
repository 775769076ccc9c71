//go:build unix

package postgres

import (
	"net"
	"syscall"
)

// heard reports whether something can be read from a network connection: a message, or its end. It
// does not wait.
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
	err = raw.Read(func(fd uintptr) (done bool) {
		_, _, peeked = syscall.Recvfrom(int(fd), next[:], syscall.MSG_PEEK)
		return true // without it, Read waits for a message
	})
	return err != nil || peeked != syscall.EAGAIN && peeked != syscall.EINTR
}
