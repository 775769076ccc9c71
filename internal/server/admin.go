package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/api"
	"github.com/petcat-api/petcat/internal/backup"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/console"
	"github.com/petcat-api/petcat/internal/management"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/portal"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/reference"
	"github.com/petcat-api/petcat/internal/web"
)

// newAdminPaths returns the paths of the admin listener that do not need data.
func (b base) newAdminPaths(so *sockets, st *state) *http.ServeMux {
	docs := reference.Admin(so.publicURL())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", b.metrics.Handler())
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", st.readyz)
	mux.Handle("GET /admin/openapi.json", web.NewDocument("application/json", api.Management()))
	mux.Handle("/admin/docs", docs)
	mux.Handle("/admin/docs/", docs)
	// The effective settings. Secrets are masked.
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, so.effectiveSettings())
	})
	return mux
}

// serveAdmin starts the admin listener, by default on loopback.
func (b base) serveAdmin(so *sockets, paths http.Handler) *http.Server {
	socket := so.secured(so.admin, b.Settings.AdminTLS())
	admin := b.serve(socket, b.recordOperators(so.gate().guard(paths)))
	b.lifetime.onClose(func(ctx context.Context) error {
		if admin.Shutdown(ctx) != nil {
			_ = admin.Close()
		}
		return nil
	})
	return admin
}

// addOperatorPaths adds the console, the profiles and the management API to the admin listener.
func (p *parts) addOperatorPaths(paths *http.ServeMux) {
	operators := p.console()
	paths.Handle("/console/", operators)
	paths.Handle("GET /debug/pprof/", operators)
	paths.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusSeeOther))
	paths.Handle("/admin/v1/", p.management())
}

// console returns the console, which also serves the profiles.
func (p *parts) console() http.Handler {
	url := p.sockets.consoleURL()
	own := p.sockets.gate()
	return console.New(console.Options{
		Options:         p.pageOptions(strings.HasPrefix(url, "https://"), p.doors.operatorLinks, p.doors.operatorCookies),
		Store:           p.data.store,
		List:            p.data.list,
		Limiter:         p.limiter,
		Version:         p.Version,
		Node:            p.id,
		Status:          p.state.status,
		Parts:           func() []console.Part { return p.state.condition.Load().parts },
		Nodes:           func() []petcat.Node { return *p.state.nodes.Load() },
		History:         p.history,
		LastBackup:      func(ctx context.Context) (any, error) { return backup.LastMade(ctx, p.data.store) },
		CustomerLink:    p.customerLink(),
		WebhookNetworks: p.Settings.WebhookAllow,
		URL:             url,
		Settings:        p.sockets.effectiveSettings(),
		OwnName:         func(host string) bool { return own.isOwnName(host) || own.isConsoleURL(host) },
	})
}

// customerLink returns the function that makes links to the customer's page, nil if that page is off.
func (p *parts) customerLink() func(petcat.Secret) string {
	if !p.Settings.CustomerPages {
		return nil
	}
	return func(token petcat.Secret) string { return portal.Link(p.sockets.publicURL(), token) }
}

// management returns the management API.
func (p *parts) management() http.Handler {
	return management.New(management.Options{
		Store:          p.data.store,
		Keys:           p.keyGenerator(),
		Holdings:       p.data.list.Holdings,
		Backups:        p.backups,
		CustomerLink:   p.customerLink(),
		Webhooks:       p.Settings.WebhookAllow,
		Door:           p.doors.operatorTokens,
		TrustedProxies: p.proxies,
		Clock:          p.Clock,
		Logger:         p.Log.Logger,
	})
}

// pageOptions returns the options that the console and the customer's page share. secure is true
// if browsers reach them over TLS.
func (p *parts) pageOptions(secure bool, links, cookies *ratelimit.Door[clientnet.Net]) pages.Options {
	return pages.Options{
		Sessions:       p.data.store,
		Keys:           p.data.store,
		Environment:    p.data.store.Environment(),
		Deployment:     p.data.store.Dataset(),
		Secure:         secure,
		Links:          links,
		Cookies:        cookies,
		TrustedProxies: p.proxies,
		Clock:          p.Clock,
		Logger:         p.Log.Logger,
	}
}

// backups returns the last scheduled backup that was verified, if there is one.
func (p *parts) backups(ctx context.Context) ([]any, error) {
	last, err := backup.LastMade(ctx, p.data.store)
	if err != nil || last.TakenAt.IsZero() {
		return []any{}, err
	}
	return []any{last}, nil
}

// effectiveSettings returns the effective settings, with actual addresses and resolved defaults.
func (s *sockets) effectiveSettings() []config.Value {
	actual := map[string]string{
		"--listen":         s.api.Addr().String(),
		"--admin-listen":   s.admin.Addr().String(),
		"--public-url":     s.publicURL(),
		"--console-url":    s.consoleURL(),
		"--node-name":      s.settings.Label(),
		"--backup-dir":     s.settings.BackupDir,
		"--log-format":     s.settings.LogFormat,
		"--customer-pages": strconv.FormatBool(s.settings.CustomerPages),
	}
	values := slices.Clone(s.settings.Values)
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
