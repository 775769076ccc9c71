package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"petcat"
	"petcat/internal/backup"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/config"
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
	// Values are the settings as the console and /settings show them.
	Values []config.Value
	Clock  clock.Clock
	Log    *logging.Log
	// Version is shown in the log, the metrics, the console and backups, and Revision in the
	// metrics.
	Version, Revision string
}

// Node is one running server, wired.
type Node struct {
	settings  config.Settings
	values    []config.Value
	began     time.Time
	clock     clock.Clock
	log       *logging.Log
	version   string
	id        string // names this process among the nodes
	listeners *listeners
	phase     phase
	metrics   *metrics.Metrics

	backend      backend
	health       healthHistory
	membership   *membership
	monitor      *periodic
	audit        *auditWatch
	auditChecks  *periodic
	usage        *usage.Meter
	usageWrites  *periodic
	seriesSteps  *periodic
	console      consoleHandler
	levelChecks  *periodic
	backups      *backup.Schedule // nil without scheduled backups
	backupChecks *periodic
	keyring      *keyring.Keyring
	limiter      *ratelimit.Limiter
	bans         *ratelimit.BanWriter

	follow    context.CancelFunc // ends the goroutines of following
	following sync.WaitGroup

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
	n := newNode(o, l)
	n.serve()
	if err := n.load(ctx); err != nil {
		n.abandon(ctx)
		return nil, err
	}
	return n, nil
}

// Run logs that the node is ready, and serves until ctx ends, which is no error, or
// until it cannot go on: a listener failed, or the program has to be started again before
// the data can be written, or trusted. At each value of reload it rereads the certificate.
func (n *Node) Run(ctx context.Context, reload <-chan os.Signal) error {
	n.log.InfoContext(ctx, "ready", "api", n.PublicURL()+"/v1", "admin", n.AdminURL(),
		"listen", n.listeners.api.Addr().String(),
		"environment", n.backend.Environment(), "categories", n.backend.list().Count(), "version", n.version)
	n.log.Flush()
	for {
		select {
		case <-reload:
			n.log.InfoContext(ctx, "SIGHUP received, rereading the certificate")
			if c := n.listeners.certificate; c != nil {
				c.reload()
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

// PublicURL returns the address that clients use, without a slash at the end: the one
// that was set, or where the listener can be reached from this machine.
func (n *Node) PublicURL() string { return n.listeners.publicURL(n.settings) }

// AdminURL returns where the admin listener can be reached from this machine.
func (n *Node) AdminURL() string { return n.listeners.adminURL() }

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

// newNode makes a node and its servers. Until load, they answer that the node is starting.
func newNode(o Options, l *listeners) *Node {
	n := &Node{
		settings: o.Settings, values: o.Values, began: o.Clock.Read().Time(), clock: o.Clock, log: o.Log, version: o.Version, id: rand.Text(), listeners: l,
		metrics: metrics.New(o.Version, o.Revision), failed: make(chan error, 2),
	}
	n.usage = usage.New(usage.Options{Node: n.id, Clock: n.clock, Logger: n.log.Logger})
	n.apiOptions = httpapi.Options{
		Failures: ratelimit.NewBucket[clientnet.Net](n.clock, ratelimit.FailuresPerMinute),
		Peeks:    ratelimit.NewBucket[petcat.AccountID](n.clock, ratelimit.PeeksPerMinute),
		Clock:    n.clock, Logger: n.log.Logger, Observe: n.observe, Admitted: n.usage.Admitted,
		Documents: documents(n.PublicURL()), TrustedProxies: clientnet.NewProxies(n.settings.TrustedProxies, n.log.Logger), CORSOrigins: n.settings.CORSOrigins,
	}
	n.health.clock = n.clock
	n.registerEarlyMetrics()
	n.handler.set(httpapi.Starting(n.apiOptions))
	n.api = newHTTPServer(l.api.Addr().String(), &n.handler, n.log.Logger)
	n.admin = newHTTPServer(l.admin.Addr().String(), n.adminHandler(), n.log.Logger)
	return n
}

// load opens the data, makes what serves requests from it, and replaces the handler of the
// API's server. After an error, close closes what was opened.
func (n *Node) load(ctx context.Context) (err error) {
	if n.backend, err = n.openBackend(ctx); err != nil {
		return err
	}
	if n.backend.Created() {
		n.log.InfoContext(ctx, "there was no data, so a new deployment was created: it knows no keys yet", "place", n.backend.place(), "environment", n.backend.Environment())
	}
	n.membership = startMembership(ctx, n.backend.registry(), n.id, n.clock, n.log.Logger)
	n.monitor = startPeriodic(ctx, untilCheck, n.check)
	n.audit = &auditWatch{store: n.backend, logger: n.log.Logger}
	n.auditChecks = startPeriodic(ctx, n.audit.untilCheck, n.audit.check)
	n.startUsage(ctx)
	levels := &levelWatch{store: n.backend, clock: n.clock, log: n.log, setting: n.settings.LogLevel}
	n.levelChecks = startPeriodic(ctx, untilLevelCheck, levels.check)
	n.startLimiter()
	if err := n.followChanges(ctx); err != nil {
		return err
	}
	if err := n.startBackups(ctx); err != nil {
		return err
	}
	n.registerMetrics()
	options := n.apiOptions
	options.Catalog, options.Store, options.Pets, options.Orders = n.backend.list(), n.backend, n.backend, n.backend
	options.Keyring, options.Limiter = n.keyring, n.limiter
	api, err := httpapi.New(options)
	if err != nil {
		return err
	}
	n.handler.set(api)
	n.loadConsole(ctx)
	n.phase.set(serving)
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
	// This outlives ctx: until the node closes, requests in flight are checked against
	// current keys.
	ctx, n.follow = context.WithCancel(context.WithoutCancel(ctx))
	n.following.Go(func() { n.keyring.Run(ctx) })
	return nil
}
