package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"petcat"
	"petcat/api"
	"petcat/internal/backup"
	"petcat/internal/clientnet"
	"petcat/internal/config"
	"petcat/internal/console"
	"petcat/internal/console/pages"
	"petcat/internal/httpapi"
	"petcat/internal/management"
	"petcat/internal/portal"
	"petcat/internal/ratelimit"
	"petcat/internal/reference"
)

// serveAdmin serves the admin listener, which by default only this machine can reach. The
// console follows when the data is loaded.
func (n *Node) serveAdmin(context.Context) error {
	n.adminMux = http.NewServeMux()
	n.adminMux.Handle("GET /metrics", n.metrics.Handler())
	n.adminMux.HandleFunc("GET /livez", livez)
	n.adminMux.HandleFunc("GET /readyz", n.readyz)
	n.adminMux.Handle("GET /admin/openapi.json", httpapi.NewDocument("application/json", api.Management()))
	n.adminMux.Handle("/admin/docs", reference.Admin())
	n.adminMux.Handle("/admin/docs/", reference.Admin())
	n.adminMux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, n.inForce()) }) // secrets are masked
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

// serveConsole adds the console, and starts to record what its charts show.
func (n *Node) serveConsole(context.Context) error {
	n.history = console.NewHistory(n.Clock.Read().Time())
	n.every(console.StepLength, func(context.Context) {
		r, _ := n.readiness()
		n.history.Take(n.Clock.Read().Time(), slices.Sorted(maps.Keys(r.Since)))
	})
	var settings []console.Setting
	for _, v := range n.inForce() {
		settings = append(settings, console.Setting{Flag: v.Flag, Variable: v.Environment, Value: v.Shown(), Origin: v.Origin})
	}
	operators := console.New(console.Options{
		Options: n.pageOptions(strings.HasPrefix(n.ConsoleURL(), "https://")), Store: n.store, List: n.list, Limiter: n.limiter,
		Version: n.Version, Node: n.id, Parts: func() []console.Part { return n.condition.Load().parts }, Nodes: func() []petcat.Node { return *n.nodes.Load() }, History: n.history,
		LastBackup: func(ctx context.Context) (console.Backup, error) {
			last, err := backup.LastMade(ctx, n.store)
			return console.Backup(last), err
		},
		URL: n.ConsoleURL(), Settings: settings, OwnName: func(host string) bool { return n.isOwnName(host) || n.isConsoleURL(host) },
	})
	n.adminMux.Handle("/console/", operators)
	var customerLink func(petcat.Secret) string // nil if the customer's pages are not served
	if n.Settings.CustomerPages {
		customerLink = func(token petcat.Secret) string { return portal.Link(n.PublicURL(), token) }
	}
	n.adminMux.Handle("/admin/v1/", management.New(management.Options{
		Store: n.store, Keys: petcat.KeyGenerator{Environment: n.store.Environment(), Random: rand.Reader}, Backups: n.backups, CustomerLink: customerLink,
		Failures:       ratelimit.NewBucket[clientnet.Net](n.Clock, httpapi.FailuresPerMinute),
		TrustedProxies: n.proxies,
		Clock:          n.Clock, Logger: n.Log.Logger,
	}))
	n.adminMux.Handle("GET /debug/pprof/", operators)
	n.adminMux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusSeeOther))
	return nil
}

// pageOptions returns the options that the console and the customer's page share. secure is true
// if browsers reach them over TLS.
func (n *Node) pageOptions(secure bool) pages.Options {
	return pages.Options{
		Environment: n.store.Environment(), Deployment: n.store.Dataset(), Secure: secure,
		Failures:       ratelimit.NewBucket[clientnet.Net](n.Clock, pages.FailuresPerMinute),
		TrustedProxies: n.proxies, Clock: n.Clock, Logger: n.Log.Logger,
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

// inForce returns the settings, with the addresses where the node listens and the meaning of
// empty values.
func (n *Node) inForce() []config.Value {
	actual := map[string]string{
		"--listen": n.apiSocket.Addr().String(), "--admin-listen": n.adminSocket.Addr().String(),
		"--public-url": n.PublicURL(), "--console-url": n.ConsoleURL(), "--node-name": n.Settings.Label(),
		"--backup-dir": n.Settings.BackupDir, "--log-format": n.Settings.LogFormat, "--customer-pages": strconv.FormatBool(n.Settings.CustomerPages),
	}
	values := slices.Clone(n.Settings.Values)
	for i, v := range values {
		values[i].Value = cmp.Or(actual[v.Flag], v.Value)
	}
	return values
}

// guard refuses requests that must not be answered on this listener.
func (n *Node) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := n.refusal(r); why != "" {
			httpapi.WriteError(w, petcat.Errorf(petcat.CodeForbidden, "%s", why))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusal says why a request must not be answered, "" if it may be.
//
// Without TLS, the console, the management API and profiles are only for this machine, on which port forwards
// and the proxy of --console-url also run: somebody in the network could read the cookie of
// a session. And a listener on the loopback serves nothing by a foreign host, which prevents
// DNS rebinding: any web site can let its name resolve to 127.0.0.1, and its pages could
// then read this listener through the browser of somebody who works on this machine.
func (n *Node) refusal(r *http.Request) string {
	host := pages.HostOf(r.Host)
	address, _ := netip.ParseAddr(host)
	loopback := host == "localhost" || address.IsLoopback()
	private := strings.HasPrefix(r.URL.Path, "/console/") || strings.HasPrefix(r.URL.Path, "/debug/pprof/") || strings.HasPrefix(r.URL.Path, "/admin/v1/")
	switch {
	case private && r.TLS == nil && !(clientnet.Remote(r.RemoteAddr).IsLoopback() && (loopback || n.isConsoleURL(host))):
		return "without TLS, the console and the management API can be reached only from its own machine: set --tls-cert and --tls-key, forward a port to localhost, or set --console-url to the https address of a proxy on that machine"
	case host == "" || n.isOwnName(host): // browsers always send a host; some health checks, by HTTP/1.0, do not
		return ""
	case n.isConsoleURL(host) && (private || r.URL.Path == "/"), !n.isConsoleURL(host) && !n.Settings.AdminIsLocal():
		return ""
	default:
		// By the host of --console-url, a request comes through a proxy, perhaps from anybody:
		// only the console asks who it is.
		return "call this listener by localhost or by its IP address"
	}
}

// isOwnName reports whether a host names this admin listener: an address, localhost, what
// --admin-listen names, or with TLS a name of the certificate.
func (n *Node) isOwnName(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || host != "" && (host == pages.HostOf(n.Settings.AdminListen) ||
		n.Settings.AdminTLS() && n.certificate.leaf().VerifyHostname(host) == nil)
}

// isConsoleURL reports whether a host is that of --console-url.
func (n *Node) isConsoleURL(host string) bool {
	u, err := url.Parse(n.Settings.ConsoleURL)
	return err == nil && host != "" && host == strings.ToLower(u.Hostname())
}

// writeJSON answers with a value that no cache may store.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only when the client has gone
}
