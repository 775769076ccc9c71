package server

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"petcat/api"
	"petcat/internal/clientnet"
	"petcat/internal/console"
	"petcat/internal/reference"
	"petcat/internal/representation"
)

// adminHandler serves the admin listener, which by default only this machine can reach.
func (n *Node) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", n.metrics.Handler())
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", n.readyz)
	mux.Handle("/console/", n.onlyPrivate(&n.console))
	mux.Handle("GET /debug/pprof/", n.onlyPrivate(&n.console))
	mux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusSeeOther))
	mux.HandleFunc("GET /settings", n.showSettings)
	return n.onlyOwnNames(mux)
}

// showSettings answers with the settings of this node, secrets masked.
func (n *Node) showSettings(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(n.settings.Values) // fails only when the client has gone
}

// isOwnName reports whether a host names this admin listener: an address, localhost, what
// --admin-listen names, or with TLS a name of the certificate.
func (n *Node) isOwnName(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || host != "" && (host == console.HostOf(n.settings.AdminListen) ||
		n.settings.AdminTLS() && n.listeners.certificate.get().Leaf.VerifyHostname(host) == nil)
}

// isConsoleName reports whether a host names the console: as this listener, or as
// --console-url does.
func (n *Node) isConsoleName(host string) bool { return n.isOwnName(host) || n.isConsoleURL(host) }

// isConsoleURL reports whether a host is that of --console-url.
func (n *Node) isConsoleURL(host string) bool {
	u, err := url.Parse(n.settings.ConsoleURL)
	return err == nil && host != "" && host == strings.ToLower(u.Hostname())
}

// onlyPrivate refuses requests that somebody in the network could read, and with them the
// cookie of a session: without TLS, only this machine may ask, on which port forwards and
// the proxy of --console-url also run.
func (n *Node) onlyPrivate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := console.HostOf(r.Host)
		address, _ := netip.ParseAddr(host)
		if r.TLS != nil || clientnet.Remote(r.RemoteAddr).IsLoopback() && (host == "localhost" || address.IsLoopback() || n.isConsoleURL(host)) {
			next.ServeHTTP(w, r)
			return
		}
		http.Error(w, "without TLS, the console can be reached only from its own machine: set --tls-cert and --tls-key, forward a port to localhost, or set --console-url to the https address of a proxy on that machine", http.StatusForbidden)
	})
}

// answersTo reports whether this listener serves a path by a host. On the loopback it serves
// nothing by a foreign one, which prevents DNS rebinding: any web site can let its name
// resolve to 127.0.0.1, and its pages could then read this listener through the browser of
// somebody who works on this machine.
func (n *Node) answersTo(host, path string) bool {
	switch {
	case host == "" || n.isOwnName(host): // browsers always send a host; some health checks, by HTTP/1.0, do not
		return true
	case n.isConsoleName(host):
		// Such a request comes through a proxy, perhaps from anybody: only the console asks
		// who it is.
		return path == "/" || strings.HasPrefix(path, "/console/") || strings.HasPrefix(path, "/debug/pprof/")
	default:
		return !n.settings.AdminIsLocal()
	}
}

// onlyOwnNames refuses requests for what is not served by the host in their Host.
func (n *Node) onlyOwnNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.answersTo(console.HostOf(r.Host), r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{ // fails only when the client has gone
			"code": "forbidden", "message": "call this listener by localhost or by its IP address", "status": http.StatusForbidden,
		})
	})
}

// documents returns the handlers of the paths that the API's listener serves without a key.
func documents(publicURL string) map[string]http.Handler {
	page := reference.Handler()
	return map[string]http.Handler{
		"/openapi.json": representation.NewDocument("application/json", api.JSON(publicURL)),
		"/openapi.yaml": representation.NewDocument("application/yaml", api.YAML(publicURL)),
		"/openapi.md":   representation.NewDocument("text/plain; charset=utf-8", api.Markdown(publicURL)), // so that browsers show it and do not save it
		"/docs":         page,
		"/docs/":        page,
		"/livez":        http.HandlerFunc(livez),
	}
}
