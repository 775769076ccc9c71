package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"petcat"
	"petcat/api"
	"petcat/internal/backup"
	"petcat/internal/clientnet"
	"petcat/internal/config"
	"petcat/internal/console"
	"petcat/internal/httpapi"
	"petcat/internal/management"
	"petcat/internal/pages"
	"petcat/internal/portal"
	"petcat/internal/ratelimit"
	"petcat/internal/reference"
	"petcat/internal/web"
)

// serveAdmin starts the admin listener, by default on loopback. serveConsole adds the console
// after the data is loaded.
func (n *Node) serveAdmin(context.Context) error {
	n.adminMux = http.NewServeMux()
	n.adminMux.Handle("GET /metrics", n.metrics.Handler())
	n.adminMux.HandleFunc("GET /livez", livez)
	n.adminMux.HandleFunc("GET /readyz", n.readyz)
	n.adminMux.Handle("GET /admin/openapi.json", web.NewDocument("application/json", api.Management()))
	docs := reference.Admin()
	n.adminMux.Handle("/admin/docs", docs)
	n.adminMux.Handle("/admin/docs/", docs)
	n.adminMux.HandleFunc("GET /settings", n.settings)
	admin := n.serve(n.adminSocket, n.Settings.AdminTLS(), n.guard(n.adminMux))
	n.onClose(func(ctx context.Context) error {
		if admin.Shutdown(ctx) != nil {
			_ = admin.Close()
		}
		return nil
	})
	n.metrics.Read("petcat_ready", func() float64 {
		_, ready := n.readiness()
		return gauge(ready)
	})
	return nil
}

// serveConsole adds the console and the management API to the admin listener, and starts to record
// the history for the console's charts.
func (n *Node) serveConsole(context.Context) error {
	n.history = console.NewHistory(n.Clock.Read().Time())
	n.every(console.StepLength, func(context.Context) {
		r, _ := n.readiness()
		n.history.Take(n.Clock.Read().Time(), slices.Sorted(maps.Keys(r.Since)))
	})
	// Wrong tokens, and wrong cookies of the console.
	failures := ratelimit.NewBucket[clientnet.Net](n.Clock, httpapi.FailuresPerMinute, ratelimit.MaxAddresses)
	secure := strings.HasPrefix(n.ConsoleURL(), "https://")
	operators := console.New(console.Options{
		Options:    n.pageOptions(secure, failures),
		Store:      n.store,
		List:       n.list,
		Limiter:    n.limiter,
		Version:    n.Version,
		Node:       n.id,
		Parts:      func() []console.Part { return n.condition.Load().parts },
		Nodes:      func() []petcat.Node { return *n.nodes.Load() },
		History:    n.history,
		LastBackup: func(ctx context.Context) (any, error) { return backup.LastMade(ctx, n.store) },
		URL:        n.ConsoleURL(),
		Settings:   n.effectiveSettings(),
		OwnName:    func(host string) bool { return n.isOwnName(host) || n.isConsoleURL(host) },
	})
	n.adminMux.Handle("/console/", operators)
	var customerLink func(petcat.Secret) string // nil if the customer's pages are not served
	if n.Settings.CustomerPages {
		customerLink = func(token petcat.Secret) string { return portal.Link(n.PublicURL(), token) }
	}
	n.adminMux.Handle("/admin/v1/", management.New(management.Options{
		Store:          n.store,
		Keys:           petcat.KeyGenerator{Environment: n.store.Environment(), Random: rand.Reader},
		Backups:        n.backups,
		CustomerLink:   customerLink,
		Failures:       failures,
		TrustedProxies: n.proxies,
		Clock:          n.Clock,
		Logger:         n.Log.Logger,
	}))
	n.adminMux.Handle("GET /debug/pprof/", operators)
	n.adminMux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusSeeOther))
	return nil
}

// pageOptions returns the options that the console and the customer's page share. secure is true
// if browsers reach them over TLS. strangers counts cookies without a session.
func (n *Node) pageOptions(secure bool, strangers *ratelimit.Bucket[clientnet.Net]) pages.Options {
	return pages.Options{
		Environment:    n.store.Environment(),
		Deployment:     n.store.Dataset(),
		Secure:         secure,
		Failures:       ratelimit.NewBucket[clientnet.Net](n.Clock, pages.FailuresPerMinute, ratelimit.MaxAddresses),
		Strangers:      strangers,
		TrustedProxies: n.proxies,
		Clock:          n.Clock,
		Logger:         n.Log.Logger,
	}
}

// backups returns the last scheduled backup that was verified, if there is one.
func (n *Node) backups(ctx context.Context) ([]any, error) {
	last, err := backup.LastMade(ctx, n.store)
	if err != nil || last.TakenAt.IsZero() {
		return []any{}, err
	}
	return []any{last}, nil
}

// settings sends the effective settings. Secrets are masked.
func (n *Node) settings(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, n.effectiveSettings())
}

// effectiveSettings returns the effective settings, with actual addresses and resolved defaults.
func (n *Node) effectiveSettings() []config.Value {
	actual := map[string]string{
		"--listen":         n.apiSocket.Addr().String(),
		"--admin-listen":   n.adminSocket.Addr().String(),
		"--public-url":     n.PublicURL(),
		"--console-url":    n.ConsoleURL(),
		"--node-name":      n.Settings.Label(),
		"--backup-dir":     n.Settings.BackupDir,
		"--log-format":     n.Settings.LogFormat,
		"--customer-pages": strconv.FormatBool(n.Settings.CustomerPages),
	}
	values := slices.Clone(n.Settings.Values)
	for i, v := range values {
		values[i].Value = cmp.Or(actual[v.Flag], v.Value)
	}
	return values
}

// writeJSON sends a value that caches must not store.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client disconnected
}
