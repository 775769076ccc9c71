package httpapi

import (
	"net/http"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// basePath is the path prefix of the API, which contains its version.
const basePath = "/v1"

// handler responds to one request, or returns an error.
type handler func(e *exchange) error

// route registers the whole surface of the API.
func (s *Server) route() {
	s.addRoutes(map[petcat.OperationID]handler{
		petcat.OpListCategories:  s.listCategories,
		petcat.OpCreateCategory:  withBody(s, asJSON, s.createCategory),
		petcat.OpGetCategory:     s.getCategory,
		petcat.OpUpdateCategory:  withBody(s, asMergePatch, s.updateCategory),
		petcat.OpDeleteCategory:  s.deleteCategory,
		petcat.OpListChanges:     s.listCategoryChanges,
		petcat.OpGetUsage:        s.getUsage,
		petcat.OpGetUsageHistory: s.getUsageHistory,
		petcat.OpGetKey:          s.getKey,
		petcat.OpRotateKey:       withBody(s, asJSON, s.rotateKey),
		petcat.OpRevokeKey:       s.revokeKey,
		petcat.OpListPets:        s.listPets,
		petcat.OpCreatePet:       withBody(s, asJSON, s.createPet),
		petcat.OpGetPetByID:      s.getPetByID,
		petcat.OpDeletePet:       s.deletePet,
		petcat.OpListOrders:      s.listOrders,
		petcat.OpCreateOrder:     withBody(s, asJSON, s.createOrder),
	})

	// The order of one request under /v1:
	s.api = s.record( // outermost: sends errors, and records every outcome
		s.recover( // turns a panic of the steps below into an error
			s.crossOrigin( // lets web pages read all responses; responds to preflights, which have no key
				s.identify( // finds the caller by its key; limit rejects a request without a caller
					s.limit( // 401, 429; charges, and sets the rate-limit headers before any other response
						s.dispatch))))) // 404, 405, 410, 403, then the operation: body (413, 415, 408, 400) and handler
	s.outside = s.record(s.recover(s.crossOrigin(s.document)))
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := s.begin(w, r)
	defer s.exchanges.Put(e)
	chain := s.outside
	if path, ok := strings.CutPrefix(e.Path, basePath); ok && (path == "" || path[0] == '/') {
		e.path, e.API = path, true
		chain = s.api
	}
	// record has sent the error, if there was one.
	_ = chain(e)
}

// document serves the customer's pages, the documents, and reports of leaked keys. Other paths outside /v1
// are 404.
func (s *Server) document(e *exchange) error {
	if web.HasSecret(e.r.URL) {
		return errKeyInURL()
	}
	if s.options.Account != nil && (e.Path == "/account" || strings.HasPrefix(e.Path, "/account/")) {
		e.setOtherLimits()
		s.options.Account.ServeHTTP(e, e.r)
		return nil
	}
	if e.Path == leakedPath {
		if e.Method != http.MethodPost {
			e.set("Allow", "POST")
			return petcat.Errorf(petcat.CodeMethodNotAllowed, "this resource allows POST")
		}
		return s.leakedKeys(e)
	}
	h, ok := s.options.Documents[e.Path]
	if !ok {
		// A document whose path ends with a slash serves all paths below it.
		if i := strings.IndexByte(strings.TrimPrefix(e.Path, "/"), '/'); i >= 0 {
			h, ok = s.options.Documents[e.Path[:i+2]]
		}
	}
	if !ok {
		return s.noSuchPath(e.Path)
	}
	if e.Method != http.MethodGet && e.Method != http.MethodHead {
		e.set("Allow", "GET, HEAD")
		return petcat.Errorf(petcat.CodeMethodNotAllowed, "this resource allows GET, HEAD")
	}
	e.setOtherLimits()
	h.ServeHTTP(e, e.r)
	return nil
}
