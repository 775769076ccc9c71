// Package reference serves the documentation: a reference page (Swagger UI), where integrators can read
// the OpenAPI document and try the API, one for operators, and the guides of package docs for both.
//
// The pages do not send requests to other hosts; their Content-Security-Policy forbids it. The
// reference keeps an API key only while the page is open. It loads /openapi.json from the same
// server, and shows an error if that fails.
package reference

import (
	"net/http"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/docs"
	"github.com/petcat-api/petcat/internal/web"
)

// contentSecurityPolicy allows the server's own files, the style attributes that Swagger UI sets (but
// no style elements), the data: images in its style sheet, and requests to its own server.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the reference at /docs, and the guides for integrators and other files below /docs/.
// The guides contain publicURL; if it is "", their scripts insert the URL in the browser.
func Handler(publicURL string) http.Handler {
	s := site{home: "/docs", publicURL: publicURL, guides: docs.Guides()}
	files := s.files()
	files[s.home] = s.page("page/index.html", "{{rules}}", s.render(rules()))
	s.addClients(files)
	return serve(s.home, files)
}

// Admin serves the reference of the management API at /admin/docs, and the guides for operators below
// it. They contain the API's publicURL.
func Admin(publicURL string) http.Handler {
	s := site{home: "/admin/docs", publicURL: publicURL, guides: docs.OperatorGuides()}
	files := s.files()
	files[s.home] = s.page("page/admin.html")
	for _, pattern := range []string{"*.png", "*.svg"} {
		for name, picture := range web.Files(docs.Pictures(), pattern) {
			files[s.home+"/"+name] = picture
		}
	}
	return serve(s.home, files)
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
