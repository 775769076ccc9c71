// Package reference serves the documentation for integrators: the reference page (Swagger UI), where
// they can read the OpenAPI document and try the API, and the guides of package docs.
//
// The pages make no requests to other hosts; their Content-Security-Policy forbids it. The
// reference keeps an API key only while the page is open. It loads /openapi.json from the same
// server, and shows an error if that fails.
package reference

import (
	"net/http"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// contentSecurityPolicy allows the server's own files, the style attributes that Swagger UI sets (but
// no style elements), the data: images in its style sheet, and requests to its own server.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the reference at /docs, and the guides and other files below /docs/. The guides
// contain publicURL; if it is "", their scripts insert the URL in the browser.
func Handler(publicURL string) http.Handler { return serve("/docs", load(publicURL)) }

// Admin serves the reference of the management API at /admin/docs.
func Admin() http.Handler {
	files := make(map[string]http.Handler)
	for path, file := range load("") {
		files["/admin"+path] = file
	}
	page, err := embedded.ReadFile("page/admin.html")
	if err != nil { // the files are part of the binary
		panic(err)
	}
	files["/admin/docs"] = web.NewDocument("text/html; charset=utf-8", page)
	return serve("/admin/docs", files)
}

// serve serves files; home is the path of the reference.
func serve(home string, files map[string]http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		f := files[r.URL.Path]
		switch {
		case r.URL.Path == home+"/":
			h.Set("Location", home)
			w.WriteHeader(http.StatusPermanentRedirect)
		case f == nil:
			web.WriteError(w, petcat.Errorf(petcat.CodeNotFound,
				"this path does not exist; the reference is at %s",
				home))
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			web.WriteError(w, petcat.Errorf(petcat.CodeMethodNotAllowed, "this page allows GET, HEAD"))
		default:
			f.ServeHTTP(w, r)
		}
	})
}
