package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"petcat/internal/httpapi"
	"petcat/internal/logging"
	"petcat/internal/socket"
)

// Timeouts and bounds of the sockets. Where net/http keeps them, with TLS and on
// the admin listener, a body has what the headers left of the 10 s; long answers
// get more time piece by piece.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
	lingerTimeout = bodyTimeout // for what is sent after the answer
	// headerBytes is 4 KiB less than what net/http allows for a request line and
	// its headers over HTTP/1.1, which is 16 KiB, and 320 bytes less than what it
	// allows over HTTP/2, where 32 bytes count for each header besides its text.
	headerBytes = 12 << 10
	// tlsReadBytes is how much one read takes from a TLS connection: a request in one,
	// and a full record in three.
	tlsReadBytes = 8 << 10
	// stallTimeout is how long a connection may take nothing of what is written to
	// it: the system's buffers included where the system is Linux, and what net/http
	// has not yet written where the protocol is HTTP/2.
	stallTimeout = 15 * time.Second
	http2Streams = 32
	// http2Window is the smallest that HTTP/2 allows for a connection, bytes.
	http2Window = 65_535
)

// serve lets both servers accept connections. When one of them fails, n.failed is
// told.
func (n *Node) serve() {
	serve := func(server *http.Server, l net.Listener) {
		if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			n.failed <- fmt.Errorf("serve %s: %w", server.Addr, err)
		}
	}
	go serve(n.admin, n.listeners.admin)
	go serve(n.api, n.listeners.api)
}

// newAPIServer makes the API's server.
func (n *Node) newAPIServer() *http.Server {
	server := n.newHTTPServer(n.listeners.apiConns, n.listeners.api.Addr().String(), &n.handler)
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		// The API marks connections on which a valid key came.
		return n.handler.streams.context(socket.Context(ctx, c), c)
	}
	if !n.listeners.apiTLS {
		// The listener keeps the timeouts, for less.
		server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout, server.IdleTimeout = 0, 0, 0, 0
	}
	return server
}

func (n *Node) newHTTPServer(conns *socket.Listener, address string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:                         address,
		Handler:                      handler,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  bodyTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               headerBytes,
		DisableGeneralOptionsHandler: true,
		// What clients do wrong below HTTP is not worth more than debug.
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: http2Streams,
			// What a client announces and we do not read waits in memory.
			MaxReceiveBufferPerConnection: http2Window,
			MaxReceiveBufferPerStream:     http2Window,
			// A stream has the timeouts above; only this ends a connection that
			// takes no bytes at all, not even those that say that it is over.
			WriteByteTimeout: stallTimeout,
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateActive:
				conns.Answering(c)
			case http.StateIdle:
				conns.Resting(c)
			default:
			}
		},
	}
}

// observe reports one request of the API.
func (n *Node) observe(r *httpapi.Record) {
	if r.API {
		n.metrics.Request(r.Operation, r.Status, r.Code, r.Admitted, r.Duration)
		n.countUsage(r)
	}
	if r.Deprecated {
		n.metrics.Deprecated(r.Operation, r.Account)
	}
	n.log.Access(&logging.Access{
		At: r.At, RequestID: r.RequestID, Method: r.Method, Path: r.Path, Operation: r.Operation, Deprecated: r.Deprecated,
		Status: r.Status, Code: r.Code, Account: r.Account, Key: r.Key,
		Address: r.Address, Duration: r.Duration, Bytes: r.Bytes,
	})
}
