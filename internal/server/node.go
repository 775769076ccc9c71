// Package server runs one node. It connects two listeners, one for the API and one for metrics,
// health and operators, to the store, the limiter and the keyring.
//
// Flags, environment variables, signals and output belong to the command that starts the node.
// The package contains no domain rules and no SQL.
//
// The admin listener responds immediately: until the data is loaded, /readyz reports that the
// node is starting, and API connections wait. If the data cannot be opened, [Start] fails. If a
// component fails later, the node continues, and /readyz and the metrics report the failure.
// Without the database, the node serves the list in memory, rejects creates and counts requests
// in memory; after 30 s it rejects all requests.
//
// [Node.Run] returns an error if a listener fails, if SQLite can no longer be written safely, or
// if the history of the PostgreSQL database changed (decision 0005). The stored data is then
// correct, and a restart reads it.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/api"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/console"
	"petcat/internal/httpapi"
	"petcat/internal/keyring"
	"petcat/internal/logging"
	"petcat/internal/metrics"
	"petcat/internal/portal"
	"petcat/internal/postgres"
	"petcat/internal/ratelimit"
	"petcat/internal/reference"
	"petcat/internal/store"
	"petcat/internal/tracing"
	"petcat/internal/usage"
	"petcat/internal/web"
)

// Options for a [Node].
type Options struct {
	Settings config.Settings
	Clock    clock.Clock
	Log      *logging.Log
	// The log, the metrics, the console and backups contain Version; the metrics contain
	// Revision.
	Version, Revision string
	// Environ are the environment variables. The node reads NOTIFY_SOCKET and WATCHDOG_USEC
	// (systemd), and the OTEL_ variables (OpenTelemetry).
	Environ map[string]string
}

// Node is one running server.
type Node struct {
	Options

	id      string // random, of this process
	metrics *metrics.Metrics
	proxies *clientnet.Proxies
	failed  chan error // receives the error of a failed listener

	draining  atomic.Bool
	condition atomic.Pointer[condition]     // from the last check; nil while the node is starting
	nodes     atomic.Pointer[[]petcat.Node] // the running nodes, from the last heartbeat
	inFlight  atomic.Int64                  // API requests

	background context.Context //nolint:containedctx // of the goroutines in running
	stop       context.CancelFunc
	running    sync.WaitGroup
	closers    []func(context.Context) error // close runs them in reverse order

	// The steps of Start set these fields, in this order.
	certificate *certificate // nil without TLS
	apiSocket   *limitedListener
	adminSocket *limitedListener
	adminMux    *http.ServeMux
	store       Store
	db          store.Database
	list        categoryList
	counters    petcat.QuotaStore // counters that nodes share; nil with SQLite
	tracing     *tracing.Tracing  // nil if disabled
	usage       *usage.Meter
	limiter     *ratelimit.Limiter
	keyring     *keyring.Keyring
	history     *console.History
	api         *http.Server
}

// Start starts a node and returns when it is ready. The caller must call Shutdown.
//
// The error is a [petcat.UnusableError] if a setting, or a file or server that it names, cannot be used.
func Start(ctx context.Context, o Options) (*Node, error) {
	n := &Node{
		Options: o,
		id:      rand.Text(),
		metrics: metrics.New(o.Version, o.Revision),
		proxies: clientnet.NewProxies(o.Settings.TrustedProxies, o.Log.Logger),
		failed:  make(chan error, 2),
	}
	// Requests in flight need the background goroutines until the node closes.
	n.background, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, step := range []func(context.Context) error{
		n.listen, // first, because an address in use is the most common error
		n.serveAdmin,
		n.openStore,
		n.startTracing,
		n.joinNodes,
		n.recordUsage, // before any request is admitted
		n.limitRequests,
		n.followChanges,
		n.scheduleBackups,
		n.watch,
		n.serveConsole,
		n.serveAPI,
	} {
		if err := step(ctx); err != nil {
			_ = n.close(ctx) // the first error is more useful
			return nil, err
		}
	}
	return n, nil
}

// onClose registers fn to run at close, before the functions registered earlier.
func (n *Node) onClose(fn func(context.Context) error) { n.closers = append(n.closers, fn) }

// repeat calls fn in the background until the node closes. Before each call it waits for the
// duration that wait returns.
func (n *Node) repeat(wait func() time.Duration, fn func(context.Context)) {
	n.running.Go(func() {
		for {
			select {
			case <-n.background.Done():
				return
			case <-time.After(wait()):
				fn(n.background)
			}
		}
	})
}

func (n *Node) every(interval time.Duration, fn func(context.Context)) {
	n.repeat(func() time.Duration { return interval }, fn)
}

// startTracing starts to send traces and metrics if the environment names a collector.
func (n *Node) startTracing(ctx context.Context) (err error) {
	n.tracing, err = tracing.Start(ctx, tracing.Options{
		Environ:  n.Environ,
		Metrics:  n.metrics.Gatherer(),
		Version:  n.Version,
		Node:     n.id,
		Deployed: string(n.store.Environment()),
		Logger:   n.Log.Logger,
	})
	n.onClose(func(ctx context.Context) error {
		n.tracing.Close(ctx)
		return nil
	})
	return err
}

// recordUsage starts to write the usage history. The first flush is before any request is admitted,
// so that the history knows this node and shows a gap if it is killed.
func (n *Node) recordUsage(ctx context.Context) error {
	n.usage = usage.New(usage.Options{Node: n.id, Clock: n.Clock, Logger: n.Log.Logger})
	n.usage.Open(n.store)
	n.usage.Flush(ctx)
	n.repeat(n.usage.Wait, n.usage.Flush)
	n.onClose(func(ctx context.Context) error {
		n.usage.Close(ctx)
		return nil
	})
	n.metrics.Read("petcat_usage_unsaved_seconds", func() float64 { return n.usage.Unsaved().Seconds() })
	return nil
}

// sweepInterval is the interval at which the limiter drops accounts of past days.
const sweepInterval = 10 * time.Minute

// limitRequests starts the limiter. With SQLite it counts in memory, with PostgreSQL in the
// database.
func (n *Node) limitRequests(context.Context) error {
	n.limiter = ratelimit.New(ratelimit.Options{
		Clock:    n.Clock,
		Logger:   n.Log.Logger,
		Counters: n.counters,
		DayUsed:  n.store.DayUsed,
		Observe:  n.metrics.Charge,
		BanMode:  n.Settings.Bans,
		SaveBan:  n.store.SaveBan,
		Banned:   n.banned,
	})
	n.every(sweepInterval, func(context.Context) { n.limiter.Sweep() })
	n.onClose(func(context.Context) error {
		n.limiter.Close()
		return nil
	})
	n.metrics.Read("petcat_limiter_silent", func() float64 { return gauge(n.limiter.Err() != nil) })
	n.metrics.Read("petcat_limiter_local_total", func() float64 { return float64(n.limiter.Local.Load()) })
	n.metrics.Read("petcat_limiter_overloaded_total", func() float64 { return float64(n.limiter.Overloaded.Load()) })
	return nil
}

// banned counts and logs a new ban.
func (n *Node) banned(b petcat.Ban) {
	n.metrics.Banned(b.Shadow)
	n.Log.Info("key banned",
		"key", b.Key,
		"account", b.Account,
		"level", b.Level,
		"ends_at", b.EndsAt,
		"early_retries", b.EarlyRetries,
		"shadow", b.Shadow)
}

// followChanges loads the keys and bans, and starts to follow the changes of other processes.
func (n *Node) followChanges(ctx context.Context) (err error) {
	n.keyring, err = keyring.Load(ctx, keyring.Options{
		Environment: n.store.Environment(),
		Store:       n.store,
		Clock:       n.Clock,
		Logger:      n.Log.Logger,
		Ban:         n.limiter.ApplyBan,
	})
	if err != nil {
		return err
	}
	n.store.OnAccessChange(n.keyring.CatchUp)
	n.running.Go(func() { n.keyring.Run(n.background) })
	n.metrics.Read("petcat_keyring_keys", func() float64 { return float64(n.keyring.Keys()) })
	n.metrics.Read("petcat_keyring_trusted", func() float64 { return gauge(n.keyring.Trusted()) })
	return nil
}

// serveAPI starts to accept API connections, which have waited since the socket was opened.
func (n *Node) serveAPI(context.Context) error {
	failures := ratelimit.NewBucket[clientnet.Net](n.Clock, httpapi.FailuresPerMinute, ratelimit.MaxAddresses)
	handler := httpapi.New(httpapi.Options{
		Catalog:        n.list,
		Store:          n.store,
		Keyring:        n.keyring,
		Limiter:        n.limiter,
		Failures:       failures,
		Account:        n.customerPages(failures),
		Peeks:          ratelimit.NewBucket[petcat.AccountID](n.Clock, httpapi.PeeksPerMinute, ratelimit.AllAccounts),
		Clock:          n.Clock,
		Logger:         n.Log.Logger,
		Observe:        n.observe,
		Charged:        n.usage.CountRequest,
		PublicURL:      n.Settings.PublicURL,
		TrustedProxies: n.proxies,
		CORSOrigins:    n.Settings.CORSOrigins,
		Documents:      n.documents(),
	})
	n.metrics.Read("petcat_requests_in_flight", func() float64 { return float64(n.inFlight.Load()) })
	n.api = n.serve(n.apiSocket, n.Settings.TLS(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.inFlight.Add(1)
		defer n.inFlight.Add(-1)
		handler.ServeHTTP(w, r)
	}))
	return nil
}

// documents returns the handlers of the paths of the API listener that need no key.
func (n *Node) documents() map[string]http.Handler {
	public := n.PublicURL()
	page := reference.Handler(n.Settings.PublicURL)
	return map[string]http.Handler{
		"/openapi.json": web.NewDocument("application/json", api.JSON(public)),
		"/openapi.yaml": web.NewDocument("application/yaml", api.YAML(public)),
		"/postman.json": web.NewDocument("application/json", api.Postman(public)),
		"/llms.txt":     web.NewDocument("text/plain; charset=utf-8", api.LLMs(public)),
		"/docs":         page,
		"/docs/":        page,
		"/livez":        http.HandlerFunc(livez),
	}
}

// customerPages returns the handler of the customer's pages, nil if they are disabled. Invalid
// session cookies count as failed attempts, like invalid API keys.
func (n *Node) customerPages(strangers *ratelimit.Bucket[clientnet.Net]) http.Handler {
	if !n.Settings.CustomerPages {
		return nil
	}
	options := n.pageOptions(n.Settings.TLS() || strings.HasPrefix(n.PublicURL(), "https:"), strangers)
	return portal.New(portal.Options{
		Options:  options,
		Store:    n.store,
		Limiter:  n.limiter,
		Requests: ratelimit.NewBucket[petcat.AccountID](n.Clock, portal.RequestsPerMinute, ratelimit.AllAccounts),
	})
}

// Run serves until ctx ends, and returns nil. It returns an error if a listener failed, or if the
// program must be restarted to write or trust the data. It logs each value of reload.
func (n *Node) Run(ctx context.Context, reload <-chan os.Signal) error {
	n.Log.InfoContext(ctx, "ready",
		"api", n.PublicURL()+"/v1",
		"admin", n.AdminURL(),
		"listen", n.apiSocket.Addr().String(),
		"environment", n.store.Environment(),
		"categories", n.list.Count(),
		"version", n.Version)
	n.Log.Flush()
	n.notifySupervisor(ctx, "READY=1")
	n.feedWatchdog()
	for {
		select {
		case <-reload:
			n.Log.InfoContext(ctx, "SIGHUP received; certificates are reloaded automatically when their files change")
		case <-ctx.Done():
			n.Log.InfoContext(ctx, "shutting down")
			return nil
		case err := <-n.failed:
			return err
		case <-n.db.Failed():
			err := n.db.Err()
			if errors.Is(err, postgres.ErrHistory) {
				_ = n.api.Close() // the list in memory may contain writes that the database lost
				return fmt.Errorf("the database history changed (failover or restore); "+
					"restart petcat to read the current data: %w", err)
			}
			return fmt.Errorf("the store failed and cannot be written; "+
				"restart petcat to recover from the data on disk: %w", err)
		}
	}
}

// PublicURL returns the URL that clients use, without a trailing slash: the setting, or by default
// the listener's URL on this machine.
func (n *Node) PublicURL() string {
	return cmp.Or(n.Settings.PublicURL, config.LocalURL(n.apiSocket.Addr().String(), n.Settings.TLS()))
}

// AdminURL returns the URL of the admin listener on this machine.
func (n *Node) AdminURL() string {
	return config.LocalURL(n.adminSocket.Addr().String(), n.Settings.AdminTLS())
}

// ConsoleURL returns the URL of the console in browsers: the setting, or by default AdminURL.
func (n *Node) ConsoleURL() string { return cmp.Or(n.Settings.ConsoleURL, n.AdminURL()) }

// Store returns the node's store.
func (n *Node) Store() Store { return n.store }

// Identify returns the account of a key, or the error that a request with the key would get, for
// example because the key is revoked. It ignores limits. It waits up to a second for the latest
// changes of keys.
func (n *Node) Identify(ctx context.Context, key petcat.Secret) (petcat.AccountID, error) {
	n.keyring.CatchUp(ctx)
	caller, err := n.keyring.Identify(key.Reveal(), n.Clock.Read())
	if err != nil {
		return 0, err
	}
	return caller.Account, nil
}
