package httpapi

import (
	"slices"
	"strings"

	"petcat"
)

// route is a path and what can be done with it.
type route struct {
	allow   []string // the value of Allow
	methods map[string]*endpoint
}

// endpoint is an operation that can be called.
type endpoint struct {
	operation petcat.Operation
	handle    handler
	lifecycle []field // headers that tell the operation's stability
}

// field is a header with its value, ready to be put into an http.Header.
type field struct {
	name  string
	value []string
}

// addRoutes builds the table of paths from the registry of operations. It
// panics when an operation has no handler: that is a mistake in the program.
func (s *Server) addRoutes(operations []petcat.Operation, handlers map[petcat.OperationID]handler) {
	s.routes = make(map[string]*route)
	for _, o := range operations {
		h := handlers[o.ID]
		if h == nil {
			panic("httpapi: no handler for " + string(o.ID))
		}
		at := s.routes[o.Path]
		if at == nil {
			at = &route{methods: make(map[string]*endpoint)}
			s.routes[o.Path] = at
		}
		at.methods[o.Method] = &endpoint{operation: o, handle: h, lifecycle: lifecycle(o)}
		if o.Method == "GET" {
			at.methods["HEAD"] = at.methods["GET"]
		}
	}
	for _, at := range s.routes {
		var names []string
		for name := range at.methods {
			names = append(names, name)
		}
		slices.Sort(names)
		at.allow = []string{strings.Join(names, ", ")}
	}
}

// dispatch finds the operation and calls it.
func (s *Server) dispatch(e *exchange) error {
	at := s.routes[e.path]
	if at == nil {
		return petcat.Errorf(petcat.CodeNotFound, "there is no such resource; the paths are listed in /openapi.json")
	}
	endpoint := at.methods[e.r.Method]
	if endpoint == nil {
		e.header()["Allow"] = at.allow
		return petcat.Errorf(petcat.CodeMethodNotAllowed, "this resource allows %s", at.allow[0])
	}
	e.Operation = endpoint.operation.ID
	h := e.header()
	for _, f := range endpoint.lifecycle {
		h[f.name] = f.value
	}
	if endpoint.operation.Sunset(e.start.Time()) {
		return petcat.Errorf(petcat.CodeOperationSunset, "the operation %s has ended", endpoint.operation.ID)
	}
	return endpoint.handle(e)
}
