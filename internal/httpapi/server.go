// Package httpapi is the JSON API. Each HTTP request under /v1 goes through one chain of steps,
// which routes.go shows.
//
// Steps and handlers return errors and never write them. One function (error.go) converts errors
// to responses, so that every response has the rate-limit headers and none shows an internal
// error. Each request has one [Record]. The steps fill the record, which is logged and counted
// once, at the end.
//
// The package does not import a store; it depends on small interfaces. It does not use http.ServeMux,
// because the contract excludes redirects and plain-text responses. If the limiter or the
// keyring cannot decide, the response is 503 with Retry-After, never 200 or 429.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/keyring"
	"github.com/petcat-api/petcat/internal/logging"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/web"
)

type categoryList interface {
	// Current returns a list that contains every create that was acknowledged before the call,
	// with the age 0. While the store is unavailable, it returns a stale list, with the time
	// since it was complete as its age. newest is the newest revision in the store, if it was
	// read after the request arrived, or 0.
	Current(ctx context.Context, newest petcat.Revision) (list *catalog.Snapshot, age time.Duration, err error)
	// Holdings returns what an account stores, by this node's counts.
	Holdings(account petcat.AccountID) petcat.Holdings
}

type identifier interface {
	Identify(credential string, now clock.Reading) (*keyring.Caller, error)
	IdentifyNew(ctx context.Context, credential string, now clock.Reading) (*keyring.Caller, error)
	Find(ctx context.Context, hashes []petcat.KeyHash) []petcat.KeyID
}

// Store is the part of the store that the API calls. The methods are from [petcat.CategoryStore],
// [petcat.PetStore], [petcat.OrderStore], [petcat.KeyStore], [petcat.BanStore] and [petcat.UsageStore].
type Store interface {
	CreateCategory(ctx context.Context, c petcat.CreateCategory) (petcat.CreatedCategory, error)
	UpdateCategory(ctx context.Context, u petcat.UpdateCategory) (petcat.Category, error)
	DeleteCategory(ctx context.Context, d petcat.DeleteCategory) error
	CategoryChanges(ctx context.Context, q petcat.ChangeQuery) ([]petcat.RevisedCategory, error)
	CreatePet(ctx context.Context, c petcat.CreatePet) (petcat.CreatedPet, error)
	FindPet(ctx context.Context, id petcat.PetID) (petcat.Pet, error)
	DeletePet(ctx context.Context, d petcat.DeletePet) error
	ListPets(ctx context.Context, q petcat.PetQuery) ([]petcat.Pet, error)
	CreateOrder(ctx context.Context, c petcat.CreateOrder) (petcat.CreatedOrder, error)
	ListOrders(ctx context.Context, q petcat.OrderQuery) ([]petcat.Order, error)
	FindKey(ctx context.Context, id petcat.KeyID) (petcat.Key, error)
	RotateKey(
		ctx context.Context, by petcat.Author, r petcat.Rotation,
	) (petcat.Result[petcat.RotatedKey], error)
	ChangeKey(
		ctx context.Context, by petcat.Author, id petcat.KeyID, a petcat.KeyAction,
	) (petcat.Result[petcat.Key], error)
	BanPage(ctx context.Context, q petcat.BanQuery) ([]petcat.Ban, error)
	Usage(ctx context.Context, q petcat.UsageQuery) (petcat.UsageHistory, error)
	UsageParts(ctx context.Context, q petcat.UsageQuery) ([]petcat.UsagePart, error)
}

type limiter interface {
	Spend(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
	Peek(ctx context.Context, c ratelimit.Charge) (ratelimit.Decision, error)
}

// Options for a [Server]. All fields are required unless their comment says otherwise.
type Options struct {
	Catalog categoryList
	Store   Store
	Keyring identifier
	Keys    petcat.KeyGenerator // of successors
	Limiter limiter
	Door    *ratelimit.Door[clientnet.Net] // of API keys
	Peeks   *ratelimit.Bucket[petcat.AccountID]
	Clock   clock.Clock
	Logger  *slog.Logger // for failures of the service
	// Observe is called once for every request, including those for documents, after the
	// response is written. The record is reused afterwards; copy it to keep it.
	Observe func(*Record)
	// Charged is called when a request is charged to an account. now is the time of the
	// decision in nanoseconds since the Unix epoch.
	Charged func(_ petcat.AccountID, _ petcat.KeyID, _ petcat.OperationID, now int64)
	// Documents are the handlers of the paths outside /v1. A path that ends with a slash includes
	// all paths below it. Optional.
	Documents map[string]http.Handler
	// Account is the handler of the customer's pages, at /account and below, for all methods.
	// Optional.
	Account http.Handler
	// BodyBytes limits the memory of all request bodies in flight, without the first 4 KiB of each;
	// 64 MiB by default. An account may use an eighth; see [web.Memory]. A body over a limit gets 503.
	BodyBytes int64
	// PublicURL is the origin that clients use. If it is "", links are paths.
	PublicURL string
	// TrustedProxies are the proxies whose X-Forwarded-For and X-Request-Id are trusted.
	// Optional.
	TrustedProxies *clientnet.Proxies
	// CORSOrigins are the origins whose web pages may use the API, as browsers send them, such
	// as https://app.example.com; * allows all. Optional.
	CORSOrigins []string
}

// Server is the API as an http.Handler. Use [New].
type Server struct {
	options Options

	api, outside handler
	routes       map[string]*route // by path below /v1; {} is a parameter at the end

	bodies        *web.Memory[petcat.AccountID] // of BodyBytes
	exchanges     sync.Pool
	policies      sync.Map // petcat.Quota to *policy; only operators create quotas
	date          atomic.Pointer[date]
	addressPolicy *policy // for clients without a valid key
	usagePolicy   *policy // for accounts that request their usage too often
	changesPolicy *policy // for accounts that change their keys too often

	requestIDs  *web.RequestIDs
	outageLines logging.Seldom // of requests that got 503
}

// New returns a server.
func New(o Options) *Server {
	o.BodyBytes = cmp.Or(o.BodyBytes, 64<<20)
	s := &Server{
		options:       o,
		bodies:        web.NewMemory[petcat.AccountID](o.BodyBytes),
		addressPolicy: newBucketPolicy("address", o.Door.Limit(), petcat.Minute),
		usagePolicy:   newBucketPolicy("usage", o.Peeks.Limit(), petcat.Minute),
		changesPolicy: newBucketPolicy("changes", petcat.MaxCustomerChanges, petcat.Day),
		requestIDs:    web.NewRequestIDs(),
	}
	s.exchanges.New = func() any { return new(exchange) }
	s.route()
	return s
}
