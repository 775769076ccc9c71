package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

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

type limiter interface {
	Spend(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
	Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
}

// Options for a [Server]. All fields are required unless their comment says otherwise.
type Options struct {
	Catalog  categoryList
	Store    petcat.CategoryStore
	Pets     petcat.PetStore
	Orders   petcat.OrderStore
	Keyring  identifier
	Limiter  limiter
	Failures *ratelimit.Bucket[clientnet.Net]
	Peeks    *ratelimit.Bucket[petcat.AccountID]
	Clock    clock.Clock
	Logger   *slog.Logger // for failures of the service
	// Observe is called once with the record of every request, also of those for
	// documents, after its answer was written. The record is reused afterwards: copy it
	// to keep it. Optional.
	Observe func(*Record)
	// Admitted is called when a request is charged to an account, with the time of the
	// limiter's decision in nanoseconds since the Unix epoch. Optional.
	Admitted func(_ petcat.AccountID, now int64)
	// Documents are the handlers of the paths outside /v1. One whose path ends with a
	// slash serves all paths below it. Optional.
	Documents map[string]http.Handler
	// BodyBytes bounds the memory of all bodies in use that are larger than 4 KiB;
	// 64 MiB by default. A body that would exceed it is answered 503.
	BodyBytes int64
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

	bodies        budget
	exchanges     sync.Pool
	policies      sync.Map // of *policy by petcat.Quota; as many as operators have agreed on quotas
	addressPolicy *policy  // for callers without a valid key
	usagePolicy   *policy  // for callers who ask for their usage too often

	instance       string // the prefix of every request id of this process
	requests       atomic.Uint64
	nextOutageLine atomic.Int64 // monotonic nanoseconds: no line of the log about 503 before
}

// New returns a server. It returns an error if a required option is missing.
func New(o Options) (*Server, error) {
	if o.Catalog == nil || o.Store == nil || o.Pets == nil || o.Orders == nil || o.Keyring == nil || o.Limiter == nil || o.Failures == nil || o.Peeks == nil || o.Clock == nil || o.Logger == nil {
		return nil, errors.New("httpapi: a required option is missing")
	}
	s := newServer(o)
	s.route()
	return s, nil
}

// Starting returns the handler for the time until the data is loaded: it serves the
// documents, and responds with 503 to every request under /v1. It cannot check keys yet, so
// the rate-limit headers are those of the client's address. It does not use the options
// Catalog, Store, Pets, Orders, Keyring and Limiter.
func Starting(o Options) http.Handler {
	s := newServer(o)
	s.api = s.record(s.recover(s.crossOrigin(func(e *exchange) error {
		e.expected = true
		return petcat.Errorf(petcat.CodeServiceUnavailable, "the service is starting; retry in a moment")
	})))
	return s
}

// newServer returns a server that has no routes under /v1.
func newServer(o Options) *Server {
	var random [5]byte
	_, _ = rand.Read(random[:]) // never fails, by its documentation
	if o.Observe == nil {
		o.Observe = func(*Record) {}
	}
	if o.Admitted == nil {
		o.Admitted = func(petcat.AccountID, int64) {}
	}
	if o.BodyBytes == 0 {
		o.BodyBytes = 64 << 20
	}
	s := &Server{
		Options:       o,
		bodies:        budget{total: o.BodyBytes, account: make(map[petcat.AccountID]int64)},
		addressPolicy: newBucketPolicy("address", o.Failures.Limit()),
		usagePolicy:   newBucketPolicy("usage", o.Peeks.Limit()),
		instance:      base32.HexEncoding.EncodeToString(random[:]),
	}
	s.exchanges.New = func() any { return new(exchange) }
	s.outside = s.record(s.recover(s.crossOrigin(s.document)))
	return s
}
