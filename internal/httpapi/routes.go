package httpapi

import (
	"net/http"
	"strings"

	"petcat"
)

// basePath is the path prefix of the API, which contains its version.
const basePath = "/v1"

// handler answers one exchange, or returns an error.
type handler func(e *exchange) error

// route registers the whole surface of the API.
func (s *Server) route(operations []petcat.Operation) {
	s.addRoutes(operations, map[petcat.OperationID]handler{
		petcat.OpListCategories: s.listCategories,
		petcat.OpCreateCategory: withBody(s, asJSON, s.createCategory),
		petcat.OpGetCategory:    s.getCategory,
		petcat.OpUpdateCategory: withBody(s, asMergePatch, s.updateCategory),
		petcat.OpDeleteCategory: s.deleteCategory,
		petcat.OpGetUsage:       s.getUsage,
		petcat.OpListPets:       s.listPets,
		petcat.OpCreatePet:      withBody(s, asJSON, s.createPet),
		petcat.OpGetPetByID:     s.getPetByID,
		petcat.OpListOrders:     s.listOrders,
		petcat.OpCreateOrder:    withBody(s, asJSON, s.createOrder),
	})

	// The order of one request under /v1:
	s.api = s.record( // outermost: answers with errors, and records every outcome
		s.recover( // turns a panic of the steps below into an error
			s.crossOrigin( // lets web pages read all answers; answers preflights, which have no key
				s.identify( // finds the caller by its key; admit refuses a request without one
					s.admit( // 401, 429; charges, and sets the rate-limit headers before any other answer
						s.dispatch))))) // 404, 405, 410, 403, then the operation: body (413, 415, 408, 400) and handler

	// Outside /v1 there are only documents, which need no key, and 404.
	s.outside = s.record(s.recover(s.crossOrigin(s.document)))
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := s.begin(w, r)
	defer s.end(e)
	chain := s.outside
	if path, ok := strings.CutPrefix(e.Path, basePath); ok && (path == "" || path[0] == '/') {
		e.path = path
		chain = s.api
	}
	// record has answered with the error, if there was one.
	_ = chain(e)
}

// document serves the documents outside /v1. They need no key.
func (s *Server) document(e *exchange) error {
	h, ok := s.Documents[e.Path]
	if !ok {
		// A document whose path ends with a slash serves all paths below it.
		if i := strings.IndexByte(strings.TrimPrefix(e.Path, "/"), '/'); i >= 0 {
			h, ok = s.Documents[e.Path[:i+2]]
		}
	}
	if !ok {
		return petcat.Errorf(petcat.CodeNotFound, "there is nothing at this path; the API is under %s, its OpenAPI document is at /openapi.json", basePath)
	}
	if e.Method != http.MethodGet && e.Method != http.MethodHead {
		e.header()["Allow"] = []string{"GET, HEAD"}
		return petcat.Errorf(petcat.CodeMethodNotAllowed, "this resource allows GET, HEAD")
	}
	s.setAddressRateLimit(e)
	h.ServeHTTP(e.writer(), e.r)
	return nil
}

// Starting returns the handler for the time until the data is loaded: it serves the
// documents, and responds with 503 to every request under /v1. It cannot check keys yet, so
// the rate-limit headers are those of the client's address. It uses the options Failures,
// Peeks, Clock, Logger, Observe, Documents, TrustedProxies and CORSOrigins.
func Starting(o Options) http.Handler {
	s := newServer(o)
	s.api = s.record(s.recover(s.crossOrigin(func(e *exchange) error {
		e.expected = true
		return petcat.Errorf(petcat.CodeServiceUnavailable, "the service is starting; retry in a moment")
	})))
	s.outside = s.record(s.recover(s.crossOrigin(s.document)))
	return s
}
