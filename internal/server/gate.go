package server

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/web"
)

// The reasons to reject a request to the admin listener.
const (
	needsTLS = "without TLS, the console and the management API are available only on the server's machine: " +
		"set --tls-cert and --tls-key, forward a port to localhost, " +
		"or set --console-url to the https URL of a proxy on that machine"
	needsOwnName = "use localhost or the IP address of this listener as the host"
)

// gate decides which requests the admin listener serves.
type gate struct {
	settings    config.Settings
	certificate *certificate // nil without TLS
}

// gate returns the gate of the admin listener.
func (s *sockets) gate() gate { return gate{settings: s.settings, certificate: s.certificate} }

// guard rejects requests that the admin listener must not serve.
func (g gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := g.rejection(r); why != "" {
			web.WriteError(w, petcat.Errorf(petcat.CodeForbidden, "%s", why))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// rejection returns the reason to reject a request, "" to serve it.
func (g gate) rejection(r *http.Request) string {
	host := pages.HostOf(r.Host)
	// Without TLS, others in the network could read session cookies and tokens.
	if isPrivate(r.URL.Path) && r.TLS == nil && !g.isFromThisMachine(r.RemoteAddr, host) {
		return needsTLS
	}
	// Browsers always send a host, HTTP/1.0 health checks may not.
	if host == "" || g.isOwnName(host) {
		return ""
	}
	if g.isConsoleURL(host) {
		// The proxy may forward requests of any client. Only the private paths authenticate; / redirects
		// to the console.
		if isPrivate(r.URL.Path) || r.URL.Path == "/" {
			return ""
		}
		return needsOwnName
	}
	// Against DNS rebinding: a web site can resolve its name to 127.0.0.1, and read this listener through
	// a browser on this machine.
	if g.settings.AdminIsLocal() {
		return needsOwnName
	}
	return ""
}

// isPrivate reports whether a path belongs to the console, the management API or the profiles. They
// authenticate their clients.
func isPrivate(path string) bool {
	return strings.HasPrefix(path, "/console/") ||
		strings.HasPrefix(path, "/admin/v1/") ||
		strings.HasPrefix(path, "/debug/pprof/")
}

// isFromThisMachine reports whether a request without TLS does not cross the network: its client runs
// on this machine, such as a port forward, and uses a loopback host; or it is the proxy of --console-url.
func (g gate) isFromThisMachine(remote, host string) bool {
	if !clientnet.Remote(remote).IsLoopback() {
		return false
	}
	address, _ := netip.ParseAddr(host) // on an error zero, which is not loopback
	return host == "localhost" || address.IsLoopback() || g.isConsoleURL(host)
}

// isOwnName reports whether a host is a name of the admin listener: an IP address, localhost, the
// host of --admin-listen, or with TLS a name in the certificate.
func (g gate) isOwnName(host string) bool {
	if host == "" {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	if host == "localhost" || host == pages.HostOf(g.settings.AdminListen) {
		return true
	}
	return g.settings.AdminTLS() && g.certificate.leaf().VerifyHostname(host) == nil
}

// isConsoleURL reports whether a host is the host of --console-url.
func (g gate) isConsoleURL(host string) bool {
	u, err := url.Parse(g.settings.ConsoleURL)
	return err == nil && host != "" && host == strings.ToLower(u.Hostname())
}
