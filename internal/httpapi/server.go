// Package httpapi is the JSON API: each HTTP request under /v1 goes through one chain of
// steps, all of which routes.go shows.
//
// A step or handler returns an error and never writes one. One function (error.go) turns
// errors into responses, so that no response lacks the rate-limit headers or shows an
// internal error. Every request has one [Record]. Each step fills its part of the record,
// which is logged and counted once, at the end.
//
// The package knows no store: it gets what it needs as small interfaces. It does not use
// http.ServeMux, because the contract has no redirects and no plain-text responses.
// When the limiter or the keyring cannot decide, the response is 503 with
// Retry-After, never 200 and never 429.
package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clientnet"
	"petcat/internal/clock"
	"petcat/internal/keyring"
	"petcat/internal/ratelimit"
)

type categoryList interface {
	// Current returns a list that contains every create that was answered before the
	// call; its age is 0. While the store is unavailable, it returns a stale list: age is
	// how long ago it was complete. newest is the newest revision of the store, if that was
	// read since the request arrived, or 0.
	Current(ctx context.Context, newest petcat.Revision) (list *catalog.Snapshot, age time.Duration, err error)
}

type identifier interface {
	Identify(ctx context.Context, credential string, now clock.Reading) (*keyring.Caller, error)
}

// Store is the data that the API serves, besides the list of categories.
type Store interface {
	petcat.CategoryStore
	petcat.PetStore
	petcat.OrderStore
	FindKey(ctx context.Context, id petcat.KeyID) (petcat.Key, error)
	BanPage(ctx context.Context, q petcat.BanQuery) ([]petcat.Ban, error)
}

type limiter interface {
	Spend(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
	Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
}

// Options for a [Server]. All fields are required unless their comment says otherwise.
type Options struct {
	Catalog  categoryList
	Store    Store
	Keyring  identifier
	Limiter  limiter
	Failures *ratelimit.Bucket[clientnet.Net]
	Peeks    *ratelimit.Bucket[petcat.AccountID]
	Clock    clock.Clock
	Logger   *slog.Logger // for failures of the service
	// Observe is called once with the record of every request, also of those for
	// documents, after its answer was written. The record is reused afterwards: copy it
	// to keep it.
	Observe func(*Record)
	// Admitted is called when a request is charged to an account, with the time of the
	// limiter's decision in nanoseconds since the Unix epoch.
	Admitted func(_ petcat.AccountID, now int64)
	// Documents are the handlers of the paths outside /v1. One whose path ends with a
	// slash serves all paths below it. Optional.
	Documents map[string]http.Handler
	// Account has the customer's pages, at /account and below. They answer all methods.
	// Optional.
	Account http.Handler
	// BodyBytes bounds the memory of all bodies in use that are larger than 4 KiB;
	// 64 MiB by default. A body that would exceed it is answered 503.
	BodyBytes int64
	// PublicURL is the address that clients use, without /v1 and without a slash at its end;
	// "" if it is not known. Then links are paths.
	PublicURL string
	// TrustedProxies are the proxies whose X-Forwarded-For and X-Request-Id are trusted.
	// Optional.
	TrustedProxies *clientnet.Proxies
	// CORSOrigins are the origins whose web pages may use the API, as browsers send
	// them, such as https://app.example.com; or * for all. Optional.
	CORSOrigins []string
}

// Server is the API as an http.Handler. Use [New].
type Server struct {
	Options

	api, outside handler
	routes       map[string]*route // by path below /v1; a parameter at its end is {}

	bodies        *semaphore.Weighted // of BodyBytes
	exchanges     sync.Pool
	policies      sync.Map // of *policy by petcat.Quota; as many as operators have agreed on quotas
	addressPolicy *policy  // for callers without a valid key
	usagePolicy   *policy  // for callers who ask for their usage too often

	instance       string // the prefix of every request id of this process
	requests       atomic.Uint64
	nextOutageLine atomic.Int64 // monotonic nanoseconds: no line of the log about 503 before
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{
		Options:       o,
		bodies:        semaphore.NewWeighted(cmp.Or(o.BodyBytes, 64<<20)),
		addressPolicy: newBucketPolicy("address", o.Failures.Limit()),
		usagePolicy:   newBucketPolicy("usage", o.Peeks.Limit()),
		instance:      rand.Text()[:8] + "-",
	}
	s.exchanges.New = func() any { return new(exchange) }
	s.route()
	return s
}
