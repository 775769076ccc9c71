// Package reference serves the page on which integrators read the interface
// document and try it out: Swagger UI, from the binary itself.
//
// The page makes no request to any other host, and its Content-Security-Policy
// keeps it from making one. It refuses to hold an API key longer than it is
// open. It knows nothing of the document, which it loads from /openapi.json of
// the same server; without that it says so.
package reference

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"petcat"
)

// contentSecurityPolicy allows what the page needs: its own files, the style
// attributes that Swagger UI writes (but no style elements), the images that its
// style sheet holds as data: URLs, and requests to its own server.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at /docs and its files below /docs/.
func Handler() http.Handler {
	files := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		f := files[r.URL.Path]
		switch {
		case r.URL.Path == "/docs/":
			h.Set("Location", "/docs")
			w.WriteHeader(http.StatusPermanentRedirect)
		case f == nil:
			refuse(w, http.StatusNotFound, petcat.CodeNotFound, "there is nothing at this path; the reference is at /docs")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, petcat.CodeMethodNotAllowed, "this page allows GET, HEAD")
		default:
			f.serve(w, r)
		}
	})
}

// serve answers with the file, compressed if the client takes that.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	// Always asked for again, and nearly always answered 304: so a new version
	// of the server never runs with old files in a browser.
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	v := f.plain
	if acceptsGzip(r.Header.Values("Accept-Encoding")) {
		if z := f.gzipped(); z != nil {
			v = *z
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", v.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(v.data))
}

// refuse answers with an error in the form of the API's.
func refuse(w http.ResponseWriter, status int, code petcat.Code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The texts are constants that need no escaping.
	_, _ = w.Write([]byte(`{"code":"` + string(code) + `","message":"` + message + `","status":` + strconv.Itoa(status) + "}"))
}

// acceptsGzip reports whether an Accept-Encoding names gzip, or anything, with
// a weight above 0.
func acceptsGzip(values []string) bool {
	anything := false
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		coding, weight, _ := strings.Cut(part, ";")
		_, q, weighted := strings.Cut(weight, "=")
		refused := false
		if weighted {
			n, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			refused = err != nil || n <= 0
		}
		switch coding = strings.TrimSpace(coding); {
		case strings.EqualFold(coding, "gzip"):
			return !refused
		case coding == "*":
			anything = !refused
		}
	}
	return anything
}
