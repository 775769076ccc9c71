package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"petcat"
)

// route has the operations of a path.
type route struct {
	allow   []string // the value of Allow
	methods map[string]*endpoint
}

// endpoint is an operation that can be called.
type endpoint struct {
	petcat.Operation

	handle      handler
	stability   []string // the value of X-Stability
	deprecation http.Header
}

// addRoutes builds the table of paths from the registry of operations. It panics if an
// operation has no handler, which is a mistake in the program.
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
		at.methods[o.Method] = &endpoint{o, h, []string{string(o.Stability)}, deprecation(o)}
		if o.Method == "GET" {
			at.methods["HEAD"] = at.methods["GET"]
		}
	}
	for _, at := range s.routes {
		at.allow = []string{strings.Join(slices.Sorted(maps.Keys(at.methods)), ", ")}
	}
}

// find finds the route of a request's path, and the operation that it asks for.
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
		e.Operation = e.endpoint.ID // also of requests that are refused
	}
}

// dispatch calls the handler of the operation. Its own errors are 404, 405, 410 and 403.
func (s *Server) dispatch(e *exchange) error {
	endpoint := e.endpoint
	switch {
	case e.route == nil:
		return petcat.Errorf(petcat.CodeNotFound, "there is no such resource; the paths are listed in /openapi.json")
	case endpoint == nil:
		e.Header()["Allow"] = e.route.allow
		return petcat.Errorf(petcat.CodeMethodNotAllowed, "this resource allows %s", e.route.allow[0])
	}
	e.Deprecated = endpoint.Deprecated()
	e.Header()["X-Stability"] = endpoint.stability
	maps.Copy(e.Header(), endpoint.deprecation)
	if endpoint.Sunset(e.At) {
		return petcat.Errorf(petcat.CodeOperationSunset, "the operation %s ended on %s; its description at /docs names what to use instead",
			endpoint.ID, endpoint.SunsetAt.UTC().Format(time.DateOnly))
	}
	if e.caller.ReadOnly && endpoint.Writes() {
		return petcat.Errorf(petcat.CodeForbidden, "this API key is read-only; use a key that may write, or ask the operator for one")
	}
	return endpoint.handle(e)
}

// deprecationPage is the section of the reference page that explains deprecation.
const deprecationPage = "/docs#deprecation"

// deprecation returns the headers of a deprecated operation: Deprecation (RFC 9745), Sunset
// (RFC 8594) and a Link to what they mean; nil for another.
//
// Every answer of the operation itself has them and X-Stability, errors included. Answers
// before the operation is known do not: 401, 429, 404, 405, and 503 while keys or counts are
// unavailable.
func deprecation(o petcat.Operation) http.Header {
	if !o.Deprecated() {
		return nil
	}
	h := http.Header{"Deprecation": {"@" + strconv.FormatInt(o.DeprecatedAt.Unix(), 10)}}
	link := "<" + deprecationPage + `>; rel="deprecation"; type="text/html"`
	if !o.SunsetAt.IsZero() {
		link += ", <" + deprecationPage + `>; rel="sunset"; type="text/html"`
		h["Sunset"] = []string{o.SunsetAt.UTC().Format(http.TimeFormat)}
	}
	h["Link"] = []string{link}
	return h
}
