package server

import (
	"net"
	"sync"
)

const (
	// mostConnections bounds the memory of the API's connections, mostAdminConnections
	// that of the admin listener's, where the limit of open files does not.
	mostConnections      = 16_384
	mostAdminConnections = 1_024
	// reservedFiles is how many files the rest of the process may have open: the
	// database's files or connections, and the log.
	reservedFiles = 64
)

// connectionLimits returns how many connections each listener may have, so that the process
// never runs out of file descriptors: the API gets seven eighths of them, without the
// reserved ones, and the admin listener the rest.
func connectionLimits(files int64) (api, admin int) {
	return int(max(16, min(mostConnections, files-files/8-reservedFiles))), int(max(16, min(mostAdminConnections, files/8)))
}

// limitedListener has a bounded number of open connections. While it has that many, new
// ones wait in the system's queue. In contrast to those of netutil.LimitListener, its
// connections can be counted, and keep CloseWrite, with which net/http lets a last response
// arrive.
type limitedListener struct {
	*net.TCPListener

	slots  chan struct{} // has one element for each open connection
	closed chan struct{}
	close  func()
}

func newLimitedListener(l *net.TCPListener, most int) *limitedListener {
	closed := make(chan struct{})
	return &limitedListener{TCPListener: l, slots: make(chan struct{}, most), closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

// Accept waits for the next connection, and until there is a slot for it.
func (l *limitedListener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	select {
	case l.slots <- struct{}{}:
		return &limitedConn{c, sync.OnceFunc(func() { <-l.slots })}, nil
	case <-l.closed:
		_ = c.Close()
		return nil, net.ErrClosed
	}
}

// Close also ends an Accept that waits for a slot.
func (l *limitedListener) Close() error {
	l.close()
	return l.TCPListener.Close()
}

// open returns how many connections there are.
func (l *limitedListener) open() int { return len(l.slots) }

type limitedConn struct {
	*net.TCPConn

	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
