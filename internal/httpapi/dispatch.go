package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
)

// route has the operations of a path.
type route struct {
	allow   []string // the Allow header
	methods map[string]*endpoint
}

// endpoint is an operation with its handler.
type endpoint struct {
	petcat.Operation

	handle      handler
	stability   []string // the X-Stability header
	deprecation http.Header
}

// addRoutes creates the routes of all operations. It panics if an operation has no handler, which is
// a programming error.
func (s *Server) addRoutes(handlers map[petcat.OperationID]handler) {
	s.routes = make(map[string]*route)
	for _, o := range petcat.Operations() {
		h := handlers[o.ID]
		if h == nil {
			panic("httpapi: no handler for " + string(o.ID))
		}
		path, _, ends := strings.Cut(o.Path, "/{")
		if ends {
			path += "/{}"
		}
		at := s.routes[path]
		if at == nil {
			at = &route{methods: make(map[string]*endpoint)}
			s.routes[path] = at
		}
		at.methods[o.Method] = &endpoint{o, h, []string{string(o.Stability)}, s.deprecation(o)}
		if o.Method == "GET" {
			at.methods["HEAD"] = at.methods["GET"]
		}
	}
	for _, at := range s.routes {
		at.allow = []string{strings.Join(slices.Sorted(maps.Keys(at.methods)), ", ")}
	}
}

// find finds the route and the operation of a request.
func (s *Server) find(e *exchange) {
	if e.route = s.routes[e.path]; e.route == nil {
		i := strings.LastIndexByte(e.path, '/')
		if i < 0 || i == len(e.path)-1 {
			return
		}
		e.route, e.item = s.routes[e.path[:i]+"/{}"], e.path[i+1:]
	}
	if e.route == nil {
		return
	}
	if e.endpoint = e.route.methods[e.Method]; e.endpoint != nil {
		e.Operation = e.endpoint.ID // also if the request is rejected
	}
}

// dispatch calls the handler of the operation. It returns the errors 404, 405, 410 and 403, and 400 for
// an Idempotency-Key that the operation does not take.
func (s *Server) dispatch(e *exchange) error {
	endpoint := e.endpoint
	switch {
	case e.route == nil:
		return s.noSuchPath(e.Path)
	case endpoint == nil:
		e.Header()["Allow"] = e.route.allow
		return petcat.Errorf(petcat.CodeMethodNotAllowed, "this resource allows %s", e.route.allow[0])
	}
	e.Deprecated = endpoint.Deprecated()
	e.Header()["X-Stability"] = endpoint.stability
	if names := ignored(e.r.URL.RawQuery, endpoint.Query); names != "" {
		e.set("X-Ignored-Parameters", names)
	}
	maps.Copy(e.Header(), endpoint.deprecation)
	if endpoint.Sunset(e.At) {
		return petcat.Errorf(petcat.CodeOperationSunset,
			"the operation %s ended on %s; its description at /docs shows its replacement",
			endpoint.ID, endpoint.SunsetAt.UTC().Format(time.DateOnly))
	}
	if e.caller.ReadOnly && endpoint.Writes() {
		return petcat.Errorf(petcat.CodeForbidden,
			"this API key is read-only; use a key with write access, or ask the operator for one")
	}
	if endpoint.Writes() && endpoint.Method != http.MethodPost && e.r.Header["Idempotency-Key"] != nil {
		// It would be ignored, and the client would rely on it.
		advice := "send the ETag in If-Match instead, which makes retries safe"
		if endpoint.ID == petcat.OpDeletePet { // pets have no ETag
			advice = "leave it out: no pet gets the same id, so a retry is safe"
		}
		return petcat.Errorf(petcat.CodeInvalidField,
			"%s takes no Idempotency-Key; %s", endpoint.Method, advice).In("Idempotency-Key")
	}
	return endpoint.handle(e)
}

// noSuchPath returns the error 404 for a path. It suggests a similar path, if there is one.
func (s *Server) noSuchPath(path string) error {
	segments := strings.FieldsFunc(strings.ToLower(path), func(c rune) bool { return c == '/' })
	segments = slices.DeleteFunc(segments, func(s string) bool { return "/"+s == basePath })
	for _, o := range petcat.Operations() {
		// A prefix is enough: /v1/category and /v1/categories/ are similar to /v1/categories.
		first, _, _ := strings.Cut(o.Path[1:], "/")
		if len(segments) > 0 && strings.HasPrefix(segments[0], first[:max(3, 2*len(first)/3)]) {
			return petcat.Errorf(petcat.CodeNotFound,
				"this path does not exist; did you mean %s%s? All paths are at /docs", basePath, o.Path)
		}
	}
	return petcat.Errorf(petcat.CodeNotFound,
		"this path does not exist; the API is under %s, its reference at /docs, "+
			"its OpenAPI document at /openapi.json",
		basePath)
}

// deprecationPage is the section of the reference page that explains deprecation.
const deprecationPage = "/docs#deprecation"

// deprecation returns the headers of a deprecated operation: Deprecation (RFC 9745), Sunset
// (RFC 8594) and a Link to their explanation. For other operations it returns nil.
//
// These headers and X-Stability are on every response of the operation, including errors. They
// are not on responses that are sent before dispatch: 401, 429, 404, 405, and 503 while keys or
// counts are unavailable.
func (s *Server) deprecation(o petcat.Operation) http.Header {
	if !o.Deprecated() {
		return nil
	}
	h := http.Header{"Deprecation": {"@" + strconv.FormatInt(o.DeprecatedAt.Unix(), 10)}}
	page := "<" + s.options.PublicURL + deprecationPage
	link := page + `>; rel="deprecation"; type="text/html"`
	if !o.SunsetAt.IsZero() {
		link += ", " + page + `>; rel="sunset"; type="text/html"`
		h["Sunset"] = []string{o.SunsetAt.UTC().Format(http.TimeFormat)}
	}
	h["Link"] = []string{link}
	return h
}
