package doctor

import (
	"context"
	"maps"
	"net"
	"net/url"
	"slices"
	"time"

	"petcat/internal/server"
)

// expiresSoon is the threshold of the alert for certificates.
const expiresSoon = 7 * 24 * time.Hour

// node asks the node on this machine, if there is one.
func (x *examination) node(ctx context.Context) {
	r, err := x.Ask(ctx)
	if err != nil {
		x.found("node", Warning, "%v", err)
		return
	}
	x.running = true
	switch r.Status {
	case "ready":
		x.found("node", OK, "it is ready")
	case "degraded":
		x.degraded(r)
	case "unavailable":
		x.found("node", Problem, "it refuses all requests, because the database has not answered for 30 seconds; bring the database back, petcat recovers by itself")
	case "failed":
		x.found("node", Problem, "it can no longer write (%s); start it again, and check the disk", r.Checks["store"])
	default:
		x.found("node", Warning, "it is %s and gets no requests; ask again in a moment, and look at its log if that lasts", r.Status)
	}
}

// degraded tells of each part that is unhealthy.
func (x *examination) degraded(r server.Readiness) {
	remedies := map[string]string{
		"store":   "bring the database back or free some space; petcat recovers by itself",
		"limiter": "check the connection to the database; petcat recovers by itself",
		"keyring": "check the connection to the database",
	}
	for _, part := range slices.Sorted(maps.Keys(r.Checks)) {
		problem := r.Checks[part]
		if problem == "ok" {
			continue
		}
		if since, ok := r.Since[part]; ok {
			problem += ", since " + since.UTC().Format(time.RFC3339)
		}
		x.found("node", Problem, "its %s is unhealthy: %s; %s", part, problem, remedies[part])
	}
}

// listeners checks whether the API can be reached or, without a node, could be served.
func (x *examination) listeners(ctx context.Context) {
	if !x.running {
		if err := server.CheckListeners(ctx, x.Settings); err != nil {
			x.found("listeners", Problem, "%v", err)
			return
		}
		x.found("listeners", OK, "%s and %s are free", x.Settings.Listen, x.Settings.AdminListen)
		return
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", x.Settings.Listen)
	if err != nil {
		x.found("listeners", Problem, "the node responds, but its API does not at %s (%v); give the --listen that it was started with, or look at its log", x.Settings.Listen, err)
		return
	}
	_ = conn.Close()
	x.found("listeners", OK, "the API takes connections at %s", x.Settings.Listen)
}

// certificate looks at the files that a node serves.
func (x *examination) certificate(context.Context) {
	if !x.Settings.TLS() {
		return
	}
	host := ""
	if u, err := url.Parse(x.Settings.PublicURL); err == nil && u.Scheme == "https" {
		host = u.Hostname()
	}
	expires, err := server.CheckCertificate(x.Settings, x.Clock, host)
	left := expires.Sub(x.Clock.Read().Time())
	on := expires.UTC().Format(time.RFC3339)
	switch {
	case expires.IsZero():
		x.found("certificate", Problem, "%v", err)
	case err != nil:
		x.found("certificate", Problem, "it is not for %s (%v); get one that is, or correct --public-url", host, err)
	case left <= 0:
		x.found("certificate", Problem, "it expired on %s, so clients refuse it; renew it: petcat serves the new files within a second", on)
	case left < expiresSoon:
		x.found("certificate", Warning, "it expires on %s; renew it: petcat serves the new files within a second", on)
	default:
		x.found("certificate", OK, "it expires on %s", on)
	}
}
