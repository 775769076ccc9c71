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

	handle    handler
	lifecycle http.Header // how long the operation can be relied on
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
		at.methods[o.Method] = &endpoint{o, h, lifecycle(o)}
		if o.Method == "GET" {
			at.methods["HEAD"] = at.methods["GET"]
		}
	}
	for _, at := range s.routes {
		at.allow = []string{strings.Join(slices.Sorted(maps.Keys(at.methods)), ", ")}
	}
}

// find returns the route of a path, nil if there is none, and the path's last segment if
// that is a parameter.
func (s *Server) find(path string) (at *route, item string) {
	if at := s.routes[path]; at != nil {
		return at, ""
	}
	i := strings.LastIndexByte(path, '/')
	if i < 0 || i == len(path)-1 {
		return nil, ""
	}
	return s.routes[path[:i]+"/{}"], path[i+1:]
}

// endpoint returns the operation that a request asks for, nil if there is none.
func (e *exchange) endpoint() *endpoint {
	if e.route == nil {
		return nil
	}
	return e.route.methods[e.r.Method]
}

// dispatch calls the handler of the operation. Its own errors are 404, 405, 410 and 403.
func (s *Server) dispatch(e *exchange) error {
	if e.route == nil {
		return petcat.Errorf(petcat.CodeNotFound, "there is no such resource; the paths are listed in /openapi.json")
	}
	endpoint := e.endpoint()
	if endpoint == nil {
		allow := e.route.allow
		e.Header()["Allow"] = allow
		return petcat.Errorf(petcat.CodeMethodNotAllowed, "this resource allows %s", allow[0])
	}
	e.Deprecated = endpoint.Deprecated()
	maps.Copy(e.Header(), endpoint.lifecycle)
	if endpoint.Sunset(e.start.Time()) {
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

// lifecycle returns the headers X-Stability and, once an operation is deprecated,
// Deprecation (RFC 9745), Sunset (RFC 8594) and a Link to what they mean.
//
// Every answer of the operation itself has them, errors included. Answers before the
// operation is known do not: 401, 429, 404, 405, and 503 while keys or counts are
// unavailable.
func lifecycle(o petcat.Operation) http.Header {
	h := http.Header{"X-Stability": {string(o.Stability)}}
	if !o.Deprecated() {
		return h
	}
	link := "<" + deprecationPage + `>; rel="deprecation"; type="text/html"`
	if !o.SunsetAt.IsZero() {
		link += ", <" + deprecationPage + `>; rel="sunset"; type="text/html"`
		h["Sunset"] = []string{o.SunsetAt.UTC().Format(http.TimeFormat)}
	}
	h["Deprecation"] = []string{"@" + strconv.FormatInt(o.DeprecatedAt.Unix(), 10)}
	h["Link"] = []string{link}
	return h
}
