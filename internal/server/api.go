package server

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/api"
	"github.com/petcat-api/petcat/internal/httpapi"
	"github.com/petcat-api/petcat/internal/portal"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/reference"
	"github.com/petcat-api/petcat/internal/web"
)

// serveAPI starts to accept API connections, which have waited since the socket was opened.
func (p *parts) serveAPI() *http.Server {
	handler := httpapi.New(httpapi.Options{
		Catalog:        p.data.list,
		Store:          p.data.store,
		Keyring:        p.keyring,
		Keys:           p.keyGenerator(),
		Limiter:        p.limiter,
		Door:           p.doors.keys,
		Account:        p.customerPages(),
		Peeks:          ratelimit.NewBucket[petcat.AccountID](p.Clock, httpapi.PeeksPerMinute, ratelimit.AllAccounts),
		Clock:          p.Clock,
		Logger:         p.Log.Logger,
		Observe:        p.observe,
		Charged:        p.usage.CountRequest,
		PublicURL:      p.Settings.PublicURL,
		TrustedProxies: p.proxies,
		CORSOrigins:    p.Settings.CORSOrigins,
		Documents:      p.documents(),
	})
	p.metrics.Read("petcat_requests_in_flight", func() float64 { return float64(p.inFlight.Load()) })
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.inFlight.Add(1)
		defer p.inFlight.Add(-1)
		handler.ServeHTTP(w, r)
	})
	return p.serve(p.sockets.secured(p.sockets.api, p.Settings.TLS()), counted)
}

// keyGenerator makes the keys of this deployment.
func (p *parts) keyGenerator() petcat.KeyGenerator {
	return petcat.KeyGenerator{Environment: p.data.store.Environment(), Random: rand.Reader}
}

// documents returns the handlers of the API listener's paths that do not need a key.
func (p *parts) documents() map[string]http.Handler {
	public := p.sockets.publicURL()
	page := reference.Handler(p.Settings.PublicURL)
	return map[string]http.Handler{
		"/openapi.json": web.NewDocument("application/json", api.JSON(public)),
		"/openapi.yaml": web.NewDocument("application/yaml", api.YAML(public)),
		"/postman.json": web.NewDocument("application/json", api.Postman(public)),
		"/llms.txt":     web.NewDocument("text/plain; charset=utf-8", api.LLMs(public)),
		"/docs":         page,
		"/docs/":        page,
		"/livez":        http.HandlerFunc(livez),
	}
}

// customerPages returns the handler of the customer's pages, nil if they are disabled.
func (p *parts) customerPages() http.Handler {
	if !p.Settings.CustomerPages {
		return nil
	}
	secure := p.Settings.TLS() || strings.HasPrefix(p.sockets.publicURL(), "https:")
	return portal.New(portal.Options{
		Options:  p.pageOptions(secure, p.doors.customerLinks, p.doors.customerCookies),
		Store:    p.data.store,
		Limiter:  p.limiter,
		Holdings: p.data.list.Holdings,
		Requests: ratelimit.NewBucket[petcat.AccountID](p.Clock, portal.RequestsPerMinute, ratelimit.AllAccounts),
	})
}
