package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"

	"petcat/internal/clock"
	"petcat/internal/config"
)

// listeners are the two sockets of a node.
type listeners struct {
	api, admin  net.Listener
	apiConns    *limitedListener // the connections of api, below TLS
	certificate *certificate     // nil without TLS
}

// listen opens both sockets.
func listen(ctx context.Context, settings config.Settings, c clock.Clock, logger *slog.Logger) (*listeners, error) {
	l := &listeners{}
	if settings.TLS() {
		var err error
		if l.certificate, err = loadCertificate(settings.TLSCert, settings.TLSKey, c, logger); err != nil {
			return nil, err
		}
	}
	api, err := listenOn(ctx, "listen", settings.Listen)
	if err != nil {
		return nil, err
	}
	admin, err := listenOn(ctx, "admin-listen", settings.AdminListen)
	if err != nil {
		_ = api.Close()
		return nil, err
	}
	most, mostAdmin := connectionLimits(fileLimit())
	l.apiConns = newLimitedListener(api, most)
	l.api, l.admin = l.apiConns, newLimitedListener(admin, mostAdmin)
	if settings.TLS() {
		l.api = tls.NewListener(l.api, l.certificate.config())
	}
	if settings.AdminTLS() {
		l.admin = tls.NewListener(l.admin, l.certificate.config())
	}
	return l, nil
}

func listenOn(ctx context.Context, flag, address string) (*net.TCPListener, error) {
	var listener net.ListenConfig
	l, err := listener.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program already listens on %s; stop it, or choose another address with --%s: %w", address, flag, syscall.EADDRINUSE)
	case errors.Is(err, syscall.EACCES):
		return nil, config.Errorf("this user is not allowed to listen on %s; ports below 1024 need a privilege; choose another with --%s: %w", address, flag, syscall.EACCES)
	case err != nil:
		// Only what the system said, without the names of its calls.
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = errno
		}
		return nil, config.Errorf("cannot listen on %s; choose another address with --%s: %w", address, flag, err)
	}
	return l.(*net.TCPListener), nil
}

// CheckListeners opens both listeners, and closes them again, so that petcat doctor can say
// beforehand whether a node would start.
func CheckListeners(ctx context.Context, s config.Settings) error {
	for _, l := range []struct{ flag, address string }{{"listen", s.Listen}, {"admin-listen", s.AdminListen}} {
		opened, err := listenOn(ctx, l.flag, l.address)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
	}
	return nil
}

// PublicURL returns the address that clients use, without a slash at the end: the one
// that was set, or where the listener can be reached from this machine.
func (n *Node) PublicURL() string {
	return cmp.Or(n.settings.PublicURL, config.LocalURL(n.listeners.api.Addr().String(), n.settings.TLS()))
}

// AdminURL returns where the admin listener can be reached from this machine.
func (n *Node) AdminURL() string {
	return config.LocalURL(n.listeners.admin.Addr().String(), n.settings.AdminTLS())
}

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
