package server

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"

	"petcat/api"
	"petcat/internal/config"
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
	mux.Handle("/console/", n.consoleAnswers())
	mux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusSeeOther))
	mux.HandleFunc("GET /settings", n.showSettings)
	if n.settings.AdminIsLocal() {
		return n.onlyOwnNames(mux)
	}
	return mux
}

// showSettings answers with the settings of this node, secrets masked.
func (n *Node) showSettings(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(config.Documents(n.values)) // fails only when the client has gone
}

// isOwnName reports whether a host names this admin listener: an address, localhost, what
// the settings name, or with TLS a name of the certificate.
func (n *Node) isOwnName(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || host != "" && (host == console.HostOf(n.settings.AdminListen) ||
		host == console.HostOf(strings.TrimPrefix(n.settings.ConsoleURL, "https://")) ||
		n.listeners.adminTLS && n.listeners.certificate.names(host))
}

// onlyOwnNames refuses requests to a loopback listener whose Host is not a name of it. It
// prevents DNS rebinding: any web site can let its name resolve to 127.0.0.1, and its pages
// could then read this listener through the browser of somebody who works on this machine.
func (n *Node) onlyOwnNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Browsers always send a Host; some health checks, by HTTP/1.0, do not.
		if host := console.HostOf(r.Host); host == "" || n.isOwnName(host) {
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
