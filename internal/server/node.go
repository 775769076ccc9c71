// Package server runs one node. It wires the two listeners, one for the API and one
// for metrics and health, to the data, the limiter and the keyring.
//
// It prints nothing, reads no environment and no flag, and handles no signal: the
// command that starts it does. It contains no rule of the domain and no SQL.
//
// The admin listener responds at once: until the data is loaded, /readyz says that the node
// is starting. Connections of the API wait meanwhile. When the data cannot be
// opened, [Start] fails. When something becomes unavailable later, /readyz and the
// metrics show it, and the node continues: without the database it serves the list
// in memory, refuses creates and counts requests in memory; after 30 s it refuses every
// request.
// [Node.Run] returns with an error when a listener failed, when the embedded database can
// no longer be written safely, and when PostgreSQL does not continue what the node has read
// of it (decision 0005). What is in the store is then correct, and a restart reads it.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
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
	"petcat/internal/tracing"
	"petcat/internal/usage"
)

// Options are what a node is made of.
type Options struct {
	Settings config.Settings
	Clock    clock.Clock
	Log      *logging.Log
	// Version is shown in the log, the metrics, the console and backups, and Revision in the
	// metrics.
	Version, Revision string
	// Environ has the variables of the environment. The node reads NOTIFY_SOCKET (systemd) and
	// those of OpenTelemetry (OTEL_…).
	Environ map[string]string
}

// Node is one running server, wired.
type Node struct {
	Options

	id      string // names this process among the nodes
	metrics *metrics.Metrics
	proxies *clientnet.Proxies
	failed  chan error // gets an error when a listener fails

	draining  atomic.Bool
	condition atomic.Pointer[condition]     // by the last check; nil while the node is starting
	nodes     atomic.Pointer[[]petcat.Node] // all that run, by the last beat
	inFlight  atomic.Int64                  // requests of the API

	background context.Context //nolint:containedctx // of the goroutines in running
	stop       context.CancelFunc
	running    sync.WaitGroup
	closers    []func(context.Context) error // of what the steps opened, in that order

	// What the steps of Start make, in that order.
	certificate *certificate // nil without TLS
	apiSocket   *limitedListener
	adminSocket *limitedListener
	adminMux    *http.ServeMux
	store       Store
	list        categoryList
	counters    petcat.QuotaStore // where nodes count together; nil if there can be only one
	tracing     *tracing.Tracing  // nil without
	usage       *usage.Meter
	limiter     *ratelimit.Limiter
	keyring     *keyring.Keyring
	history     *console.History
	api         *http.Server
}

// Start returns a node that is ready. The caller must call Shutdown.
//
// An error is a [config.Error] when a setting, or what it points to, cannot be used.
func Start(ctx context.Context, o Options) (*Node, error) {
	n := &Node{
		Options: o, id: rand.Text(), metrics: metrics.New(o.Version, o.Revision),
		proxies: clientnet.NewProxies(o.Settings.TrustedProxies, o.Log.Logger), failed: make(chan error, 2),
	}
	// Until the node closes, requests in flight need what runs in the background.
	n.background, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, step := range []func(context.Context) error{
		n.listen, // first: an address that is in use is the most common mistake
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
			_ = n.close(ctx) // the caller reports why the node cannot start
			return nil, err
		}
	}
	return n, nil
}

// onClose registers fn to run at close, before the functions registered earlier.
func (n *Node) onClose(fn func(context.Context) error) { n.closers = append(n.closers, fn) }

// repeat calls fn in the background, again and again until the node closes, each time after
// the duration that wait returns.
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

// startTracing sends traces and metrics to a collector, if the environment names one.
func (n *Node) startTracing(ctx context.Context) (err error) {
	n.tracing, err = tracing.Start(ctx, tracing.Options{
		Environ: n.Environ, Metrics: n.metrics.Gatherer(), Version: n.Version, Node: n.id, Deployed: string(n.store.Environment()), Logger: n.Log.Logger,
	})
	n.onClose(n.tracing.Close)
	return err
}

// recordUsage starts to write what requests used. The first write is before any request is
// admitted: only a node that the usage history knows leaves a gap in it when it is killed.
func (n *Node) recordUsage(ctx context.Context) error {
	n.usage = usage.New(usage.Options{Node: n.id, Clock: n.Clock, Logger: n.Log.Logger})
	n.usage.Open(n.store)
	n.usage.Flush(ctx)
	n.repeat(n.usage.Wait, n.usage.Flush)
	n.onClose(func(ctx context.Context) error { n.usage.Close(ctx); return nil })
	n.metrics.Read("petcat_usage_unsaved_seconds", func() float64 { return n.usage.Unsaved().Seconds() })
	return nil
}

// sweepInterval is how often the limiter drops the accounts of past days.
const sweepInterval = 10 * time.Minute

// limitRequests starts to count: in memory if this is the only node, else in the database.
// Each ban is counted in the metrics and logged.
func (n *Node) limitRequests(context.Context) error {
	n.limiter = ratelimit.New(ratelimit.Options{
		Clock: n.Clock, Logger: n.Log.Logger, Counters: n.counters, DayUsed: n.store.DayUsed, Observe: n.metrics.Charge,
		Bans: n.Settings.Bans, SaveBan: n.store.SaveBan,
		Banned: func(b petcat.Ban) {
			n.metrics.Banned(b.Shadow)
			n.Log.Info("a key was banned", "key", b.Key, "account", b.Account, "level", b.Level,
				"ends_at", b.EndsAt, "early_retries", b.EarlyRetries, "shadow", b.Shadow)
		},
	})
	n.every(checkInterval, func(context.Context) { n.limiter.Check() })
	n.every(sweepInterval, func(context.Context) { n.limiter.Sweep() })
	n.onClose(func(context.Context) error { n.limiter.Close(); return nil })
	n.metrics.Read("petcat_limiter_silent", func() float64 { return gauge(n.limiter.Err() != nil) })
	n.metrics.Read("petcat_limiter_local_total", func() float64 { return float64(n.limiter.Local.Load()) })
	n.metrics.Read("petcat_limiter_overloaded_total", func() float64 { return float64(n.limiter.Overloaded.Load()) })
	return nil
}

// followChanges reads the keys and the bans, and starts to follow what other processes
// change.
func (n *Node) followChanges(ctx context.Context) (err error) {
	n.keyring, err = keyring.Load(ctx, keyring.Options{
		Environment: n.store.Environment(), Store: n.store, Clock: n.Clock, Logger: n.Log.Logger, Ban: n.limiter.ApplyBan,
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

// serveAPI takes the connections of the API, which wait since the sockets were opened.
func (n *Node) serveAPI(context.Context) error {
	public, page := n.PublicURL(), reference.Handler(n.Settings.PublicURL)
	failures := ratelimit.NewBucket[clientnet.Net](n.Clock, httpapi.FailuresPerMinute)
	handler := httpapi.New(httpapi.Options{
		Catalog: n.list, Store: n.store, Keyring: n.keyring, Limiter: n.limiter,
		Failures: failures, Account: n.customerPages(failures),
		Peeks: ratelimit.NewBucket[petcat.AccountID](n.Clock, httpapi.PeeksPerMinute),
		Clock: n.Clock, Logger: n.Log.Logger, Observe: n.observe, Admitted: n.usage.Admitted,
		PublicURL: n.Settings.PublicURL, TrustedProxies: n.proxies, CORSOrigins: n.Settings.CORSOrigins,
		Documents: map[string]http.Handler{
			"/openapi.json": httpapi.NewDocument("application/json", api.JSON(public)),
			"/openapi.yaml": httpapi.NewDocument("application/yaml", api.YAML(public)),
			"/postman.json": httpapi.NewDocument("application/json", api.Postman(public)),
			"/llms.txt":     httpapi.NewDocument("text/plain; charset=utf-8", api.LLMs(public)),
			"/docs":         page,
			"/docs/":        page,
			"/livez":        http.HandlerFunc(livez),
		},
	})
	n.metrics.Read("petcat_requests_in_flight", func() float64 { return float64(n.inFlight.Load()) })
	n.api = n.serve(n.apiSocket, n.Settings.TLS(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.inFlight.Add(1)
		defer n.inFlight.Add(-1)
		handler.ServeHTTP(w, r)
	}))
	return nil
}

// customerPages returns the customer's pages; nil if they are not to be served. Cookies of no
// session count with the failed attempts at the API.
func (n *Node) customerPages(strangers *ratelimit.Bucket[clientnet.Net]) http.Handler {
	if !n.Settings.CustomerPages {
		return nil
	}
	public, _ := url.Parse(n.PublicURL()) // config validated it
	options := n.pageOptions(n.Settings.TLS() || public.Scheme == "https")
	options.Strangers = strangers
	return portal.New(portal.Options{
		Options: options, Store: n.store, Limiter: n.limiter, Prefix: public.Path,
		Requests: ratelimit.NewBucket[petcat.AccountID](n.Clock, portal.RequestsPerMinute),
	})
}

// Run logs that the node is ready, and serves until ctx ends, which is no error, or
// until it cannot go on: a listener failed, or the program has to be started again before
// the data can be written, or trusted. It logs each value of reload.
func (n *Node) Run(ctx context.Context, reload <-chan os.Signal) error {
	n.Log.InfoContext(ctx, "ready", "api", n.PublicURL()+"/v1", "admin", n.AdminURL(),
		"listen", n.apiSocket.Addr().String(),
		"environment", n.store.Environment(), "categories", n.list.Count(), "version", n.Version)
	n.Log.Flush()
	n.notifySupervisor(ctx, "READY=1")
	for {
		select {
		case <-reload:
			n.Log.InfoContext(ctx, "SIGHUP received: certificates are reread within a second whenever they change, and nothing else is")
		case <-ctx.Done():
			n.Log.InfoContext(ctx, "stopping: finishing the requests in flight")
			return nil
		case err := <-n.failed:
			return err
		case <-n.store.Failed():
			err := n.store.Err()
			if errors.Is(err, postgres.ErrHistory) {
				_ = n.api.Close() // the list in memory may contain writes that the database no longer has
				return fmt.Errorf("the database history changed (failover or restore); start petcat again, which reads what is there: %w", err)
			}
			return fmt.Errorf("the store failed and cannot be written until petcat is started again, which recovers from what is on disk: %w", err)
		}
	}
}

// PublicURL returns the address that clients use, without a slash at the end: the one
// that was set, or where the listener can be reached from this machine.
func (n *Node) PublicURL() string {
	return cmp.Or(n.Settings.PublicURL, config.LocalURL(n.apiSocket.Addr().String(), n.Settings.TLS()))
}

// AdminURL returns where the admin listener can be reached from this machine.
func (n *Node) AdminURL() string {
	return config.LocalURL(n.adminSocket.Addr().String(), n.Settings.AdminTLS())
}

// ConsoleURL returns where browsers find the console: the one that was set, or where the
// admin listener can be reached from this machine.
func (n *Node) ConsoleURL() string { return cmp.Or(n.Settings.ConsoleURL, n.AdminURL()) }

// Store returns the data that the node serves.
func (n *Node) Store() Store { return n.store }

// Identify returns the account of a key, or the error with which a request with this key would
// be refused before the limits are considered, such as that the key is revoked.
func (n *Node) Identify(ctx context.Context, key petcat.Secret) (petcat.AccountID, error) {
	caller, err := n.keyring.Identify(ctx, key.Reveal(), n.Clock.Read())
	if err != nil {
		return 0, err
	}
	return caller.Account, nil
}
