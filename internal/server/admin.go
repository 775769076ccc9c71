package server

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"petcat/api"
	"petcat/internal/reference"
	"petcat/internal/representation"
)

// adminHandler serves operators: what only this machine sees by default.
func (n *Node) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", n.metrics.Handler())
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", n.readyz)
	if n.settings.AdminIsLocal() {
		return onlyLocalNames(mux, n.settings.AdminListen)
	}
	return mux
}

// onlyLocalNames refuses whoever calls a listener on the loopback by a name that
// is not this machine's. A page of any site may have its own name point to
// 127.0.0.1, and then read with the browser of somebody who works here (DNS
// rebinding); the name in Host is what gives it away.
func onlyLocalNames(next http.Handler, listen string) http.Handler {
	own := hostOf(listen)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOf(r.Host)
		_, err := netip.ParseAddr(host)
		// Browsers always send a Host; some health checks, by HTTP/1.0, do not.
		if err == nil || host == "" || host == "localhost" || host == own {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{ // the asker has gone
			"code": "forbidden", "message": "call this listener by localhost or by its IP address", "status": http.StatusForbidden,
		})
	})
}

// hostOf returns the host of an address that may have a port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return strings.ToLower(host)
}

// documents are what the API's listener serves without a key.
func documents(publicURL string) map[string]http.Handler {
	page := reference.Handler()
	return map[string]http.Handler{
		"/openapi.json": representation.NewDocument("application/json", api.JSON(publicURL)),
		"/openapi.yaml": representation.NewDocument("application/yaml", api.YAML(publicURL)),
		"/openapi.md":   representation.NewDocument("text/plain; charset=utf-8", api.Markdown(publicURL)), // browsers show it, and do not save it
		"/docs":         page,
		"/docs/":        page,
		"/livez":        http.HandlerFunc(livez),
	}
}
