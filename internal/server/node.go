// Package server runs one node. It connects two listeners, one for the API and one for metrics,
// health and operators, to the store, the limiter and the keyring.
//
// Flags, environment variables, signals and output belong to the command that starts the node.
// The package does not contain domain rules or SQL.
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
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/logging"
	"github.com/petcat-api/petcat/internal/metrics"
	"github.com/petcat-api/petcat/internal/postgres"
	"github.com/petcat-api/petcat/internal/store"
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

// Node is one running server. Use [Start].
type Node struct {
	*parts

	api   *http.Server
	admin *http.Server
}

// Start starts a node and returns when it is ready. The caller must call Shutdown.
//
// The error is a [petcat.UnusableError] if a setting, or a file or server that it names, cannot be used.
func Start(ctx context.Context, o Options) (*Node, error) {
	b := base{
		Options:  o,
		id:       rand.Text(),
		metrics:  metrics.New(o.Version, o.Revision),
		proxies:  clientnet.NewProxies(o.Settings.TrustedProxies, o.Log.Logger),
		lifetime: newLifetime(ctx),
		failed:   make(chan error, 2),
	}
	n, err := b.start(ctx)
	if err != nil {
		_ = b.lifetime.close(ctx) // the first error is more useful
		return nil, err
	}
	return n, nil
}

// start makes the parts of a node. Each needs only those before it, and they close in reverse order.
func (b base) start(ctx context.Context) (*Node, error) {
	if wrong := CheckSettings(b.Settings, b.Environ); len(wrong) > 0 {
		return nil, wrong[0]
	}
	// The sockets are first, because an address in use is the most common error. The admin listener
	// responds while the data is loaded.
	sockets, err := b.openSockets(ctx)
	if err != nil {
		return nil, err
	}
	state := b.newState()
	adminPaths := b.newAdminPaths(sockets, state)
	admin := b.serveAdmin(sockets, adminPaths)

	data, err := b.openData(ctx)
	if err != nil {
		return nil, err
	}
	traces, err := b.startTracing(ctx, data.store.Environment())
	if err != nil {
		return nil, err
	}
	b.joinNodes(ctx, data.store, sockets, state)
	meter := b.recordUsage(ctx, data)
	limiter := b.limitRequests(data)
	keys, err := b.followAccess(ctx, data.store, limiter)
	if err != nil {
		return nil, err
	}
	if err := b.scheduleBackups(data); err != nil {
		return nil, err
	}
	b.maintain(ctx, data.store)
	b.startEvents(data)
	b.checkHealth(ctx, &checks{
		clock:   b.Clock,
		db:      data.db,
		keyring: keys,
		limiter: limiter,
		state:   state,
		log:     b.Log.Logger,
	})

	p := &parts{
		base:    b,
		sockets: sockets,
		state:   state,
		data:    data,
		tracing: traces,
		usage:   meter,
		limiter: limiter,
		keyring: keys,
		history: b.recordHistory(state),
		doors:   newDoors(b.Clock),
	}
	p.addOperatorPaths(adminPaths)
	return &Node{parts: p, api: p.serveAPI(), admin: admin}, nil
}

// Run serves until ctx is canceled, and returns nil. It returns an error if a listener failed, or if the
// program must be restarted to write or trust the data. It logs each value of reload.
func (n *Node) Run(ctx context.Context, reload <-chan os.Signal) error {
	n.Log.InfoContext(ctx, "ready",
		"api", n.PublicURL()+"/v1",
		"admin", n.AdminURL(),
		"listen", n.sockets.api.Addr().String(),
		"environment", n.data.store.Environment(),
		"categories", n.data.list.Count(),
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
		case <-n.data.db.Failed():
			err := n.data.db.Err()
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
func (n *Node) PublicURL() string { return n.sockets.publicURL() }

// AdminURL returns the URL of the admin listener on this machine.
func (n *Node) AdminURL() string { return n.sockets.adminURL() }

// ConsoleURL returns the URL of the console in browsers: the setting, or by default AdminURL.
func (n *Node) ConsoleURL() string { return n.sockets.consoleURL() }

// Store returns the node's store.
func (n *Node) Store() *store.Store { return n.data.store }

// Identify returns the account of a key, or the error that a request with the key would get, for
// example because the key is revoked. It ignores limits. It waits up to a second for the latest key
// changes.
func (n *Node) Identify(ctx context.Context, key petcat.Secret) (petcat.AccountID, error) {
	n.keyring.CatchUp(ctx)
	caller, err := n.keyring.Identify(key.Reveal(), n.Clock.Read())
	if err != nil {
		return 0, err
	}
	return caller.Account, nil
}
