package reference

import (
	"embed"
	"html"
	"net/http"
	"path"
	"strings"

	"petcat/docs"
	"petcat/internal/httpapi"
)

//go:embed assets page
var embedded embed.FS

// load returns the files by path.
func load() map[string]http.Handler {
	files := make(map[string]http.Handler)
	read := func(name string) []byte {
		data, err := embedded.ReadFile(name)
		if err != nil { // the files are part of the binary
			panic(err)
		}
		return data
	}
	guides := docs.Guides()
	page := func(name string, values ...string) http.Handler {
		text := strings.NewReplacer(append(values, "{{guides}}", guideLinks(guides))...).Replace(string(read(name)))
		return httpapi.NewDocument(contentType(name), []byte(text))
	}
	files["/docs"] = page("page/index.html")
	for _, g := range guides {
		files["/docs/"+g.Name] = page("page/guide.html", "{{title}}", html.EscapeString(g.Title), "{{text}}", renderGuide(g))
	}
	for at, name := range map[string]string{
		"/docs/page.js":                          "page/page.js",
		"/docs/page.css":                         "page/page.css",
		"/docs/swagger-ui-bundle.js":             "assets/swagger-ui-bundle.js",
		"/docs/swagger-ui-bundle.js.LICENSE.txt": "assets/swagger-ui-bundle.js.LICENSE.txt",
		"/docs/swagger-ui.css":                   "assets/swagger-ui.css",
		"/docs/favicon-32x32.png":                "assets/favicon-32x32.png",
		"/docs/LICENSE":                          "assets/LICENSE",
		"/docs/NOTICE":                           "assets/NOTICE",
	} {
		files[at] = httpapi.NewDocument(contentType(name), read(name))
	}
	return files
}

// contentType does not ask the machine, whose tables differ.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".png":
		return "image/png"
	default:
		return "text/plain; charset=utf-8"
	}
}
