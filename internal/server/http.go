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

// Timeouts and bounds of the sockets. With TLS and on the admin listener, net/http enforces
// them, and bodyTimeout includes the headers. Each piece of a long answer extends
// writeTimeout.
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
	// stallTimeout is how long a client may read nothing of what is written to its
	// connection. On Linux that includes what the system has buffered; with HTTP/2,
	// what net/http has not yet written.
	stallTimeout = 15 * time.Second
	http2Streams = 32
	// http2Window is the smallest that HTTP/2 allows for a connection, bytes.
	http2Window = 65_535
)

// serve starts both servers. If one of them fails, its error goes to n.failed.
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
		// The listener enforces the timeouts, at a lower cost.
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
		// net/http logs what clients do wrong below HTTP, which is of no interest above debug.
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: http2Streams,
			// What a client sends before we read it waits in memory.
			MaxReceiveBufferPerConnection: http2Window,
			MaxReceiveBufferPerStream:     http2Window,
			// The timeouts above end streams. Only this one ends a connection whose
			// client reads nothing at all, not even that the connection is to end.
			WriteByteTimeout: stallTimeout,
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateActive:
				conns.Active(c)
			case http.StateIdle:
				conns.Idle(c)
			default:
			}
		},
	}
}

// observe counts one request of the API in the metrics and the usage history, and logs it.
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
