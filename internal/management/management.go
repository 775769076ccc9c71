// Package management is the management API, /admin/v1: the operations of the command line and
// the console, for programs with an operator's token. docs/operations.md shows its use,
// api/management.yaml describes it.
package management

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/logging"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// Options for [New]. All fields are required unless their comment says otherwise.
type Options struct {
	Store Store
	Keys  petcat.KeyGenerator
	// Holdings returns what an account stores.
	Holdings func(petcat.AccountID) petcat.Holdings
	// Backups returns the last verified scheduled backup as JSON, if there is one.
	Backups func(context.Context) ([]any, error)
	// CustomerLink returns a link to the customer's page; nil if that page is off.
	CustomerLink func(petcat.Secret) string
	// Webhooks are the networks of receivers that are not on the Internet. Optional.
	Webhooks petcat.WebhookNetworks
	// Door checks the tokens.
	Door *ratelimit.Door[clientnet.Net]
	// TrustedProxies are the proxies whose X-Forwarded-For is used. Optional.
	TrustedProxies *clientnet.Proxies
	Clock          clock.Clock
	Logger         *slog.Logger
}

// Store has the operations that the API calls. Each file declares its handlers' part.
type Store interface {
	AccountStore
	AuditStore
	BanStore
	CategoryStore
	EventStore
	KeyStore
	LinkStore
	LogLevelStore
	NodeStore
	OperatorStore
	PlanRequestStore
	TokenStore
	UsageStore
	WebhookStore
}

// API is the handler. Use [New].
type API struct {
	Options

	mux         *http.ServeMux
	rejected    map[petcat.Code]*logging.Seldom // of rejected tokens
	outageLines logging.Seldom                  // of requests that got 503
}

// New returns the management API.
func New(o Options) *API {
	a := &API{
		Options: o,
		mux:     http.NewServeMux(),
		rejected: map[petcat.Code]*logging.Seldom{
			petcat.CodeInvalidToken:          new(logging.Seldom),
			petcat.CodeExpiredToken:          new(logging.Seldom),
			petcat.CodeRevokedToken:          new(logging.Seldom),
			petcat.CodeTooManyFailedAttempts: new(logging.Seldom),
		},
	}
	a.register()
	return a
}

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }
