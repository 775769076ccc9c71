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
	"petcat/internal/httpapi"
	"petcat/internal/reference"
)

// adminHandler serves the admin listener, which by default only this machine can reach.
func (n *Node) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", n.metrics.Handler())
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", n.readyz)
	mux.HandleFunc("/console/", n.answerConsole)
	mux.HandleFunc("GET /debug/pprof/", n.answerConsole)
	mux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusSeeOther))
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, n.settings.Values) }) // secrets are masked
	return n.guard(mux)
}

// guard refuses requests that must not be answered on this listener.
func (n *Node) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := n.refusal(r); why != "" {
			writeJSON(w, http.StatusForbidden, map[string]any{"code": "forbidden", "message": why, "status": http.StatusForbidden})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusal says why a request must not be answered, "" if it may be.
//
// Without TLS, the console and profiles are only for this machine, on which port forwards
// and the proxy of --console-url also run: somebody in the network could read the cookie of
// a session. And a listener on the loopback serves nothing by a foreign host, which prevents
// DNS rebinding: any web site can let its name resolve to 127.0.0.1, and its pages could
// then read this listener through the browser of somebody who works on this machine.
func (n *Node) refusal(r *http.Request) string {
	host := console.HostOf(r.Host)
	address, _ := netip.ParseAddr(host)
	loopback := host == "localhost" || address.IsLoopback()
	private := strings.HasPrefix(r.URL.Path, "/console/") || strings.HasPrefix(r.URL.Path, "/debug/pprof/")
	switch {
	case private && r.TLS == nil && !(clientnet.Remote(r.RemoteAddr).IsLoopback() && (loopback || n.isConsoleURL(host))):
		return "without TLS, the console can be reached only from its own machine: set --tls-cert and --tls-key, forward a port to localhost, or set --console-url to the https address of a proxy on that machine"
	case host == "" || n.isOwnName(host): // browsers always send a host; some health checks, by HTTP/1.0, do not
		return ""
	case n.isConsoleURL(host) && (private || r.URL.Path == "/"), !n.isConsoleURL(host) && !n.settings.AdminIsLocal():
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
	return err == nil || host == "localhost" || host != "" && (host == console.HostOf(n.settings.AdminListen) ||
		n.settings.AdminTLS() && n.listeners.certificate.current.Load().Leaf.VerifyHostname(host) == nil)
}

// isConsoleURL reports whether a host is that of --console-url.
func (n *Node) isConsoleURL(host string) bool {
	u, err := url.Parse(n.settings.ConsoleURL)
	return err == nil && host != "" && host == strings.ToLower(u.Hostname())
}

// writeJSON answers with a value that no cache may store.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only when the client has gone
}

// documents returns the handlers of the paths that the API's listener serves without a key.
func documents(publicURL string) map[string]http.Handler {
	page := reference.Handler()
	return map[string]http.Handler{
		"/openapi.json": httpapi.NewDocument("application/json", api.JSON(publicURL)),
		"/openapi.yaml": httpapi.NewDocument("application/yaml", api.YAML(publicURL)),
		"/openapi.md":   httpapi.NewDocument("text/plain; charset=utf-8", api.Markdown(publicURL)), // so that browsers show it and do not save it
		"/docs":         page,
		"/docs/":        page,
		"/livez":        http.HandlerFunc(livez),
	}
}
