package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/logging"
)

// Timeouts and limits of both servers.
const (
	headerTimeout  = 5 * time.Second  // for the headers of a request
	requestTimeout = 15 * time.Second // for a whole request, with its body
	writeTimeout   = 30 * time.Second // for a response; httpapi extends it for each piece of a long one
	idleTimeout    = time.Minute
	// headerBytes is MaxHeaderBytes. Over HTTP/1.1, net/http accepts an extra 4 KiB. The limit is
	// low because a header of one byte can use a hundred bytes of memory.
	headerBytes = 8 << 10
	// http2StallTimeout closes connections whose clients stop reading. The timeouts above close only
	// streams.
	http2StallTimeout = 15 * time.Second
	// http2Streams limits the memory of a connection whose client does not read responses: a
	// stream takes about 15 KB, or 50 KB with a large header. With 16 streams, 2,000 such
	// connections take 1.6 GB, and a Go client with 64 requests in parallel is not faster.
	http2Streams = 4
	// http2Window is the receive window of a connection in bytes, the minimum of HTTP/2.
	// Unread data stays in memory.
	http2Window = 65_535
	// http2Frame is the maximum size of a frame, the smallest that HTTP/2 allows. A frame is
	// buffered before it is checked.
	http2Frame = 16 << 10

	// maxConnections and maxAdminConnections are the limits if open files and memory allow more.
	maxConnections      = 16_384
	maxAdminConnections = 1_024
	// minConnections is the minimum number of connections of each listener, even if open files or
	// memory allow fewer.
	minConnections = 16
	// fewConnections is the number below which a start warns.
	fewConnections = 256
	// reservedFiles is the number of files for the rest of the process: the database's files
	// or connections, and the log.
	reservedFiles = 64
	// maxHeaders is the maximum number of headers and announced trailers of a request, as in
	// Apache. Each takes a hundred bytes or more, at least until the client reads the response.
	maxHeaders = 100
)

// sockets are the open listeners of a node, with its certificate.
type sockets struct {
	settings    config.Settings
	certificate *certificate // nil without TLS
	api         *limitedListener
	admin       *limitedListener
}

// openSockets loads the certificate, and opens both sockets.
func (b base) openSockets(ctx context.Context) (*sockets, error) {
	pair, err := b.openCertificate()
	if err != nil {
		return nil, err
	}
	memory := memoryLimit(os.DirFS("/"), debug.SetMemoryLimit(-1))
	most, mostAdmin := connectionLimits(fileLimit(), connectionsInMemory(memory, b.Settings.MaxCategoriesSize))
	if most < fewConnections {
		b.Log.WarnContext(ctx, "few connections; raise the limit of open files or of memory", "connections", most)
	}
	api, err := b.openSocket(ctx, "listen", b.Settings.Listen, most)
	if err != nil {
		return nil, err
	}
	b.metrics.Read("petcat_connections", func() float64 { return float64(api.open.Load()) })
	b.metrics.Read("petcat_connections_max", func() float64 { return float64(most) })
	admin, err := b.openSocket(ctx, "admin-listen", b.Settings.AdminListen, mostAdmin)
	if err != nil {
		return nil, err
	}
	return &sockets{
		settings:    b.Settings,
		certificate: pair,
		api:         api,
		admin:       admin,
	}, nil
}

// openCertificate loads the certificate, and reloads it when it changes. It returns nil without TLS.
func (b base) openCertificate() (*certificate, error) {
	if !b.Settings.TLS() {
		return nil, nil
	}
	pair, err := loadCertificate(b.Settings.TLSCert, b.Settings.TLSKey, b.Clock, b.Log.Logger)
	if err != nil {
		return nil, err
	}
	b.lifetime.every(certificateInterval, pair.reload)
	b.metrics.Read("petcat_tls_certificate_expiry_timestamp_seconds", func() float64 {
		return float64(pair.leaf().NotAfter.Unix())
	})
	return pair, nil
}

func (b base) openSocket(ctx context.Context, flag, address string, most int) (*limitedListener, error) {
	l, err := listenOn(ctx, flag, address)
	if err != nil {
		return nil, err
	}
	limited := newLimitedListener(l, most)
	b.lifetime.onClose(func(context.Context) error {
		_ = limited.Close() // a served listener is already closed
		return nil
	})
	return limited, nil
}

// publicURL returns the URL that clients use; see [Node.PublicURL].
func (s *sockets) publicURL() string {
	return cmp.Or(s.settings.PublicURL, config.LocalURL(s.api.Addr().String(), s.settings.TLS()))
}

// adminURL returns the URL of the admin listener on this machine.
func (s *sockets) adminURL() string {
	return config.LocalURL(s.admin.Addr().String(), s.settings.AdminTLS())
}

// consoleURL returns the URL of the console in browsers.
func (s *sockets) consoleURL() string { return cmp.Or(s.settings.ConsoleURL, s.adminURL()) }

// secured returns a socket with TLS, or the socket itself if secure is false.
func (s *sockets) secured(l net.Listener, secure bool) net.Listener {
	if !secure {
		return l
	}
	return tls.NewListener(l, s.certificate.config())
}

func listenOn(ctx context.Context, flag, address string) (*net.TCPListener, error) {
	var listener net.ListenConfig
	l, err := listener.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program listens on %s; stop it, or choose another address with --%s: %w",
			address, flag, syscall.EADDRINUSE)
	case errors.Is(err, syscall.EACCES):
		return nil, petcat.Unusablef(syscall.EACCES, "this user may not listen on %s, "+
			"because ports below 1024 need a privilege; choose another address with --%s: %v",
			address, flag, syscall.EACCES)
	case err != nil:
		// Drop the names of system calls.
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = errno
		}
		return nil, petcat.Unusablef(err, "cannot listen on %s; choose another address with --%s: %v",
			address, flag, err)
	}
	return l.(*net.TCPListener), nil
}

// CheckListeners opens and closes both listeners, so that petcat doctor can check whether a node
// could start.
func CheckListeners(ctx context.Context, s config.Settings) error {
	api, err := listenOn(ctx, "listen", s.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = api.Close() }()
	admin, err := listenOn(ctx, "admin-listen", s.AdminListen)
	if err != nil {
		return err
	}
	_ = admin.Close()
	return nil
}

// connectionLimits returns the maximum number of connections of each listener, so that the process
// runs out of neither file descriptors nor memory. The API gets 7/8 of them minus the reserved files, the
// admin listener 1/8.
func connectionLimits(files, inMemory int64) (api, admin int) {
	api = int(max(minConnections, min(maxConnections, files-files/8-reservedFiles, inMemory-inMemory/8)))
	admin = int(max(minConnections, min(maxAdminConnections, files/8, inMemory/8)))
	return api, admin
}

// limitedListener limits the number of open connections. Further connections wait in the system's
// queue. Unlike netutil.LimitListener, it counts connections, and keeps their CloseWrite method,
// which net/http needs to deliver a last response.
type limitedListener struct {
	*net.TCPListener

	slots  chan struct{} // one element for each open connection, and one for Accept
	open   atomic.Int64  // connections
	close  sync.Once
	closed chan struct{}
}

func newLimitedListener(l *net.TCPListener, most int) *limitedListener {
	return &limitedListener{
		TCPListener: l,
		slots:       make(chan struct{}, most),
		closed:      make(chan struct{}),
	}
}

// Close also unblocks an Accept that waits for a slot, because http.Server.Shutdown waits for Accept
// before it closes idle connections.
func (l *limitedListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.TCPListener.Close()
}

// Accept waits for a free slot, then for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.AcceptTCP()
	if err != nil {
		<-l.slots
		return nil, err
	}
	l.open.Add(1)
	release := sync.OnceFunc(func() {
		l.open.Add(-1)
		<-l.slots
	})
	return &limitedConn{TCPConn: c, release: release}, nil
}

type limitedConn struct {
	*net.TCPConn

	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}

// serve starts a server on a socket. If it fails, it sends the error to b.failed.
func (b base) serve(socket net.Listener, h http.Handler) *http.Server {
	s := newHTTPServer(h, b.Log)
	go func() {
		if err := s.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			b.failed <- fmt.Errorf("serve %s: %w", socket.Addr(), err)
		}
	}()
	return s
}

func newHTTPServer(h http.Handler, log *logging.Log) *http.Server {
	return &http.Server{
		Handler:                      limitHeaders(h),
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  requestTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               headerBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.Library(),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          http2Streams,
			MaxReadFrameSize:              http2Frame,
			MaxReceiveBufferPerConnection: http2Window,
			MaxReceiveBufferPerStream:     http2Window,
			WriteByteTimeout:              http2StallTimeout,
		},
	}
}

// limitHeaders rejects requests with more than maxHeaders headers and trailers.
func limitHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count := len(r.Trailer)
		for _, values := range r.Header {
			count += len(values)
		}
		if count <= maxHeaders {
			next.ServeHTTP(w, r)
			return
		}
		r.Header, r.Trailer = nil, nil // net/http keeps the request until the client reads
		w.Header().Set("Connection", "close")
		// No body: over HTTP/2, it would wait for the client's window.
		w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
	})
}
