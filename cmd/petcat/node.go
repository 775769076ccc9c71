package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"petcat"
	"petcat/internal/changelog"
	"petcat/internal/clock"
	"petcat/internal/httpapi"
	"petcat/internal/keyring"
	"petcat/internal/logging"
	"petcat/internal/metrics"
	"petcat/internal/ratelimit"
	"petcat/internal/socket"
)

// node is one running server, wired.
type node struct {
	log       *logging.Log
	listeners *listeners
	health    *health
	metrics   *metrics.Metrics

	store   *backing
	nodes   *nodes
	checks  *checks
	keyring *keyring.Keyring
	clock   *ratelimit.Clock
	limiter *limits
	bans    *ratelimit.BanKeeper

	follow    context.CancelFunc // ends those who follow what changes
	following sync.WaitGroup

	api, admin *http.Server
	handler    swap            // of the API's server
	options    httpapi.Options // of the API, but for what must be loaded
}

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
	// stallTimeout is how long a connection may take nothing of what is written to
	// it: the system's buffers included where the system is Linux, and what net/http
	// has not yet written where the protocol is HTTP/2.
	stallTimeout = 15 * time.Second
	http2Streams = 32
	// http2Window is the smallest that HTTP/2 allows for a connection, bytes.
	http2Window = 65_535
)

// newNode makes the servers of a node, which answer that it is starting until
// its data has been loaded.
func (p *program) newNode(settings Settings, log *logging.Log, l *listeners) *node {
	n := &node{log: log, listeners: l, health: &health{}, metrics: metrics.New(build().Version), clock: ratelimit.NewClock(p.clock)}
	n.options = httpapi.Options{
		Failures: ratelimit.NewFailureBucket(n.clock, failedPerMinute),
		Clock:    p.clock, Logger: log.Logger, Observe: n.observe, Proven: socket.Prove, Strange: socket.Strange,
		Documents: documents(l.publicURL(settings)), TrustedProxies: settings.TrustedProxies,
	}
	n.metrics.Gauge("petcat_ready", "1 while requests should be sent here: what /readyz answers.", func() float64 {
		_, ready := n.readiness()
		return gauge(ready)
	})
	watchListener(n.metrics, l.apiConns)
	n.handler.set(httpapi.Starting(n.options))
	n.api = n.newAPIServer()
	n.admin = n.newServer(l.adminConns, l.admin.Addr().String(), adminHandler(n, settings.AdminListen))
	return n
}

// load wires what serves requests, from the inside out, and lets the API's
// server use it. After an error, close closes what was opened.
func (n *node) load(ctx context.Context, settings Settings, c clock.Clock) error {
	if err := n.openStore(ctx, settings, c); err != nil {
		return err
	}
	if err := n.openLimits(ctx, settings, c); err != nil {
		return err
	}
	if err := n.followChanges(ctx, settings, c); err != nil {
		return err
	}
	n.watch()
	options := n.options
	options.Catalog, options.Store, options.Keyring, options.Limiter = n.store.list, n.store, n.keyring, n.limiter
	handler, err := httpapi.New(options)
	if err != nil {
		return err
	}
	n.handler.set(handler)
	n.health.ready()
	return nil
}

// openStore opens the data, reads the list, and counts the nodes.
func (n *node) openStore(ctx context.Context, settings Settings, c clock.Clock) (err error) {
	o := opening{settings: settings, clock: c, logger: n.log.Logger, metrics: n.metrics, node: rand.Text()}
	n.store, err = openBackend(ctx, o)
	if err != nil {
		return err
	}
	n.nodes = startNodes(ctx, n.store, o)
	n.checks = startChecks(ctx, n.store.check)
	return nil
}

// openLimits makes the limiter.
func (n *node) openLimits(ctx context.Context, settings Settings, c clock.Clock) (err error) {
	n.bans = ratelimit.NewBanKeeper(n.store, n.log.Logger)
	n.limiter, err = openLimits(ctx, counting{
		settings: settings, clock: c, limits: n.clock, days: n.store, dataset: n.store.Dataset(), nodes: n.nodes,
		logger: n.log.Logger, metrics: n.metrics,
		banned: func(b petcat.Ban) {
			n.metrics.Banned(b.Shadow)
			n.log.Info("a key was banned", "key", b.Key, "account", b.Account, "level", b.Level,
				"ends_at", b.EndsAt, "early_retries", b.EarlyRetries, "shadow", b.Shadow)
			n.bans.Banned(b)
		},
	})
	return err
}

// followChanges tells the limiter of the bans that hold, and makes it and the
// keyring hear of what other processes change.
func (n *node) followChanges(ctx context.Context, settings Settings, c clock.Clock) error {
	var follower *changelog.Follower
	n.keyring = keyring.New(keyring.Options{
		Environment: n.store.Environment(), Store: n.store, Clock: c, MaxEntries: settings.KeysInMemory,
		CatchUp: func(ctx context.Context) error { return follower.CatchUp(ctx) },
	})
	var err error
	follower, err = changelog.Start(ctx, changelog.Options{
		Store: n.store, Clock: c, Logger: n.log.Logger,
		Apply: func(change petcat.AccessChange) {
			n.keyring.Apply(change)
			for _, b := range change.Bans {
				n.limiter.ApplyBan(b)
			}
		},
		Heard: n.keyring.Heard,
	})
	if err != nil {
		return err
	}
	// Read after the follower knows from where it follows: what is lifted from here
	// on, it tells.
	err = n.store.EachBan(ctx, func(b petcat.Ban) error {
		n.limiter.ApplyBan(b)
		return nil
	})
	if err != nil {
		return err
	}
	// The follower outlives ctx: requests in flight go on being checked until
	// the node closes.
	ctx, n.follow = context.WithCancel(context.WithoutCancel(ctx))
	n.following.Go(func() { follower.Run(ctx) })
	n.following.Go(func() { n.keyring.Learn(ctx) })
	return nil
}

// newAPIServer makes the API's server.
func (n *node) newAPIServer() *http.Server {
	server := n.newServer(n.listeners.apiConns, n.listeners.api.Addr().String(), &n.handler)
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

// failedPerMinute is how many wrong keys an address may try.
const failedPerMinute = 600

func (n *node) newServer(conns *socket.Listener, address string, handler http.Handler) *http.Server {
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
func (n *node) observe(r *httpapi.Record) {
	if r.API {
		n.metrics.Request(r.Operation, r.Status, r.Code, r.Admitted, r.Duration)
	}
	n.log.Access(&logging.Access{
		At: r.At, RequestID: r.RequestID, Method: r.Method, Path: r.Path, Operation: r.Operation,
		Status: r.Status, Code: r.Code, Account: r.Account, Key: r.Key,
		Address: r.Address, Duration: r.Duration, Bytes: r.Bytes,
	})
}

// closeTimeout bounds what a node still has to write when it stops.
const closeTimeout = 10 * time.Second

// close lets go of everything, in the reverse order of load. It may be called on
// a node that is only half loaded.
func (n *node) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	if n.follow != nil {
		n.follow()
		n.following.Wait()
		n.keyring.Close()
	}
	if n.limiter != nil {
		errs = append(errs, n.limiter.Close(ctx))
	}
	if n.bans != nil {
		n.bans.Close()
	}
	if n.checks != nil {
		n.checks.close()
	}
	if n.nodes != nil {
		n.nodes.close(ctx)
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	return errors.Join(errs...)
}
