package web

import (
	"net/http"
	"strings"

	"github.com/petcat-api/petcat"
)

// Record is an http.ResponseWriter that records a response, and what its handler knows about the
// request.
type Record struct {
	http.ResponseWriter

	Status int         // 0 until the status line is sent
	Bytes  int64       // written of the response body
	Code   petcat.Code // "" unless the response is an error
	// Actor is the operator or token whose credential was valid, "" without one.
	Actor petcat.Actor
}

// WriteHeader implements [http.ResponseWriter].
func (r *Record) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *Record) Write(p []byte) (int, error) {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.Bytes += int64(n)
	return n, err
}

// SetCode records the code of an error response; see [SetCode].
func (r *Record) SetCode(code petcat.Code) { r.Code = code }

// Unwrap is for [http.ResponseController].
func (r *Record) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// NoRoute is the [Pattern] of an unknown path.
const NoRoute = "none"

// Pattern returns the pattern of the path that serves a request, such as /admin/v1/keys/{key}, or
// [NoRoute]. Unlike the path, it does not contain text from the client.
func Pattern(r *http.Request) string {
	_, path, found := strings.Cut(r.Pattern, " ")
	if !found {
		path = r.Pattern
	}
	if path == "" || path == "/" {
		return NoRoute
	}
	return path
}

// Route returns the method and the [Pattern] of a request, such as "GET /admin/v1/keys/{key}", or
// [NoRoute]. The number of routes is bounded.
func Route(r *http.Request) string {
	path := Pattern(r)
	if path == NoRoute {
		return NoRoute
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return r.Method + " " + path
	default:
		return "other " + path
	}
}

// SetActor records whose credential a request has.
func SetActor(w http.ResponseWriter, actor petcat.Actor) {
	if r, recorded := w.(*Record); recorded {
		r.Actor = actor
	}
}

// SetCode records the code of an error response.
func SetCode(w http.ResponseWriter, code petcat.Code) {
	if r, recorded := w.(interface{ SetCode(code petcat.Code) }); recorded {
		r.SetCode(code)
	}
}
