package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Timeouts and bounds of both servers.
const (
	headerTimeout = 5 * time.Second  // for the headers of a request
	bodyTimeout   = 10 * time.Second // for its body, after them
	writeTimeout  = 30 * time.Second // for a response; httpapi extends it for each piece of a long one
	idleTimeout   = time.Minute
	// headerBytes is 4 KiB less than net/http allows for a request line and its headers over
	// HTTP/1.1. A client can make a header of one byte cost a hundred.
	headerBytes = 12 << 10
	// http2StallTimeout ends connections whose clients read nothing at all. The timeouts above
	// end single streams.
	http2StallTimeout = 15 * time.Second
	// http2Streams bounds the memory of a connection whose client reads no responses. Each of
	// them takes some 15 KB.
	http2Streams = 8
	// http2Window is the smallest that HTTP/2 allows for a connection, in bytes: what a
	// client sends before a handler reads it waits in memory.
	http2Window = 65_535
)

// handler is a handler that can be replaced while it serves. It counts the requests in
// flight.
type handler struct {
	current atomic.Pointer[http.Handler]
	running atomic.Int64
}

func (h *handler) set(next http.Handler) { h.current.Store(&next) }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.running.Add(1)
	defer h.running.Add(-1)
	(*h.current.Load()).ServeHTTP(w, r)
}

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

func newHTTPServer(address string, h http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Addr:                         address,
		Handler:                      h,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  headerTimeout + bodyTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               headerBytes,
		DisableGeneralOptionsHandler: true,
		// net/http logs what clients do wrong below HTTP, which is of no interest above debug.
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          http2Streams,
			MaxReceiveBufferPerConnection: http2Window,
			MaxReceiveBufferPerStream:     http2Window,
			WriteByteTimeout:              http2StallTimeout,
		},
	}
}
