// Package reference serves the documentation for integrators from the binary: the
// reference page, which is Swagger UI, where they read the OpenAPI document and try the
// API, and the guides of package docs.
//
// The pages make no request to any other host, and their Content-Security-Policy keeps
// them from making one. The reference keeps an API key only while the page is open. It loads the
// document from /openapi.json of the same server, and shows an error if that fails.
package reference

import (
	"net/http"

	"petcat"
	"petcat/internal/httpapi"
)

// contentSecurityPolicy allows what the page needs: its own files, the style
// attributes that Swagger UI writes (but no style elements), the images that its
// style sheet holds as data: URLs, and requests to its own server.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the reference at /docs, and the guides and all files below /docs/.
// publicURL is the address that the guides name; "" is the one that a reader came by.
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
	files["/admin/docs"] = httpapi.NewDocument("text/html; charset=utf-8", page)
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
			httpapi.WriteError(w, petcat.Errorf(petcat.CodeNotFound, "there is nothing at this path; the reference is at %s", home))
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			httpapi.WriteError(w, petcat.Errorf(petcat.CodeMethodNotAllowed, "this page allows GET, HEAD"))
		default:
			f.ServeHTTP(w, r)
		}
	})
}
