package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/console"
	"petcat/internal/httpapi"
	"petcat/internal/keyring"
	"petcat/internal/logging"
	"petcat/internal/metrics"
	"petcat/internal/postgres"
	"petcat/internal/ratelimit"
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
}

// Node is one running server, wired.
type Node struct {
	settings  config.Settings
	clock     clock.Clock
	log       *logging.Log
	version   string
	id        string // names this process among the nodes
	listeners *listeners
	metrics   *metrics.Metrics
	health    health

	background context.Context //nolint:containedctx // of the goroutines in running
	stop       context.CancelFunc
	running    sync.WaitGroup
	closers    []func(context.Context) error // of what load opened, in that order

	backend    *backend
	membership *membership
	audit      *auditWatch
	usage      *usage.Meter
	console    atomic.Pointer[console.Console] // nil until load
	backups    *backup.Schedule                // nil without scheduled backups
	keyring    *keyring.Keyring
	limiter    *ratelimit.Limiter

	api, admin *http.Server
	handler    handler         // of the API's server
	apiOptions httpapi.Options // without the parts that load adds
	failed     chan error      // gets an error when a listener fails
}

// Start opens the sockets and then the data, and returns a node that is ready. The caller
// must call Shutdown.
//
// An error is a [config.Error] when a setting, or what it points to, cannot be used.
func Start(ctx context.Context, o Options) (*Node, error) {
	// The listeners come first: an address that is in use is the most common mistake, and
	// the cheapest to find.
	l, err := listen(ctx, o.Settings, o.Clock, o.Log.Logger)
	if err != nil {
		return nil, err
	}
	n := newNode(ctx, o, l)
	n.serve()
	if err := n.load(ctx); err != nil {
		n.abandon(ctx)
		return nil, err
	}
	return n, nil
}

// newNode makes a node and its servers. Until load, they answer that the node is starting.
func newNode(ctx context.Context, o Options, l *listeners) *Node {
	n := &Node{
		settings: o.Settings, clock: o.Clock, log: o.Log, version: o.Version, id: rand.Text(), listeners: l,
		metrics: metrics.New(o.Version, o.Revision), failed: make(chan error, 2),
	}
	// Until the node closes, requests in flight need what runs in the background.
	n.background, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	n.usage = usage.New(usage.Options{Node: n.id, Clock: n.clock, Logger: n.log.Logger})
	n.apiOptions = httpapi.Options{
		Failures: ratelimit.NewBucket[clientnet.Net](n.clock, httpapi.FailuresPerMinute),
		Peeks:    ratelimit.NewBucket[petcat.AccountID](n.clock, httpapi.PeeksPerMinute),
		Clock:    n.clock, Logger: n.log.Logger, Observe: n.observe, Admitted: n.usage.Admitted,
		Documents: documents(n.PublicURL()), TrustedProxies: clientnet.NewProxies(n.settings.TrustedProxies, n.log.Logger), CORSOrigins: n.settings.CORSOrigins,
	}
	n.registerEarlyMetrics()
	n.handler.set(httpapi.Starting(n.apiOptions))
	n.api = newHTTPServer(l.api.Addr().String(), &n.handler, n.log.Logger)
	n.admin = newHTTPServer(l.admin.Addr().String(), n.adminHandler(), n.log.Logger)
	return n
}

// load opens the data and makes what serves requests from it. After an error, close closes
// what was opened.
func (n *Node) load(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		n.openBackend,
		n.joinNodes,
		n.startUsage, // before any request is admitted
		n.startLimiter,
		n.followChanges,
		n.startBackups,
		n.watch,
		n.serveAPI,
		n.serveConsole,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	n.health.phase.Store(serving)
	return nil
}

// every calls fn in the background, again and again until the node stops, each time after
// the duration that wait returns.
func (n *Node) every(wait func() time.Duration, fn func(context.Context)) {
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

// onClose has close call fn before all that it was told earlier.
func (n *Node) onClose(fn func(context.Context) error) { n.closers = append(n.closers, fn) }

// sweepInterval is how often the limiter drops the accounts of past days.
const sweepInterval = 10 * time.Minute

// startLimiter starts to count: in memory if this is the only node, else in the database.
// Each ban is counted in the metrics and logged.
func (n *Node) startLimiter(context.Context) error {
	n.limiter = ratelimit.New(ratelimit.Options{
		Clock: n.clock, Logger: n.log.Logger, Counters: n.backend.counters, DayUsed: n.backend.DayUsed, Observe: n.metrics.Charge,
		Bans: n.settings.Bans, SaveBan: n.backend.SaveBan,
		Banned: func(b petcat.Ban) {
			n.metrics.Banned(b.Shadow)
			n.log.Info("a key was banned", "key", b.Key, "account", b.Account, "level", b.Level,
				"ends_at", b.EndsAt, "early_retries", b.EarlyRetries, "shadow", b.Shadow)
		},
	})
	n.every(func() time.Duration { return checkInterval }, func(context.Context) { n.limiter.Check() })
	n.every(func() time.Duration { return sweepInterval }, func(context.Context) { n.limiter.Sweep() })
	n.onClose(func(context.Context) error {
		n.limiter.Close()
		return nil
	})
	return nil
}

// followChanges reads the keys and the bans, and starts to follow what other processes
// change.
func (n *Node) followChanges(ctx context.Context) (err error) {
	n.keyring, err = keyring.Load(ctx, keyring.Options{
		Environment: n.backend.Environment(), Store: n.backend, Clock: n.clock, Logger: n.log.Logger, Ban: n.limiter.ApplyBan,
	})
	if err != nil {
		return err
	}
	n.backend.OnAccessChange(n.keyring.CatchUp)
	n.running.Go(func() { n.keyring.Run(n.background) })
	return nil
}

// watch starts the checks of the backend, the certificate, the audit log and the log level.
func (n *Node) watch(context.Context) error {
	n.audit = &auditWatch{store: n.backend, logger: n.log.Logger}
	levels := &levelWatch{store: n.backend, clock: n.clock, log: n.log, setting: n.settings.LogLevel}
	n.every(func() time.Duration { return checkInterval }, n.check)
	if c := n.listeners.certificate; c != nil {
		n.every(func() time.Duration { return certificateInterval }, c.reread)
	}
	n.every(n.audit.untilCheck, n.audit.check)
	n.every(func() time.Duration { return levelInterval }, levels.check)
	return nil
}

// serveAPI replaces the handler of the API's server.
func (n *Node) serveAPI(context.Context) error {
	n.registerMetrics()
	options := n.apiOptions
	options.Catalog, options.Store, options.Pets, options.Orders = n.backend.list, n.backend, n.backend, n.backend
	options.Keyring, options.Limiter = n.keyring, n.limiter
	n.handler.set(httpapi.New(options))
	return nil
}

// Run logs that the node is ready, and serves until ctx ends, which is no error, or
// until it cannot go on: a listener failed, or the program has to be started again before
// the data can be written, or trusted. At each value of reload it rereads the certificate.
func (n *Node) Run(ctx context.Context, reload <-chan os.Signal) error {
	n.log.InfoContext(ctx, "ready", "api", n.PublicURL()+"/v1", "admin", n.AdminURL(),
		"listen", n.listeners.api.Addr().String(),
		"environment", n.backend.Environment(), "categories", n.backend.list.Count(), "version", n.version)
	n.log.Flush()
	for {
		select {
		case <-reload:
			n.log.InfoContext(ctx, "SIGHUP received, rereading the certificate")
			if c := n.listeners.certificate; c != nil {
				c.reread(ctx)
			}
		case <-ctx.Done():
			n.log.InfoContext(ctx, "stopping: finishing the requests in flight")
			return nil
		case err := <-n.failed:
			return err
		case <-n.backend.Failed():
			return n.storeFailure(ctx)
		}
	}
}

// storeFailure says why the store cannot be used any more.
func (n *Node) storeFailure(ctx context.Context) error {
	err := n.backend.Err()
	if errors.Is(err, postgres.ErrHistory) {
		// The list in memory may contain writes that the database no longer has.
		n.handler.set(httpapi.Starting(n.apiOptions))
		n.log.ErrorContext(ctx, "the database does not continue what this node has read of it; petcat ends, and must be started again", "error", err)
		return err
	}
	return fmt.Errorf("the store failed and cannot be written until petcat is started again, which recovers from what is on disk: %w", err)
}

// Accounts returns the accounts and keys that the node serves.
func (n *Node) Accounts() Accounts { return n.backend }

// Operators returns those who may use the node's console.
func (n *Node) Operators() petcat.OperatorStore { return n.backend }

// Identify returns the error with which a request with this key would be refused before the
// limits are considered, such as that the key is revoked.
func (n *Node) Identify(ctx context.Context, key petcat.Secret) error {
	_, err := n.keyring.Identify(ctx, key.Reveal(), n.clock.Read())
	return err
}
