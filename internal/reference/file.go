package reference

import (
	"cmp"
	"embed"
	"html"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/petcat-api/petcat/clients"
	"github.com/petcat-api/petcat/docs"
	"github.com/petcat-api/petcat/internal/web"
)

//go:embed assets page
var embedded embed.FS

// localURL is the URL of the service in the guides and the document.
const localURL = "http://localhost:8080"

// load returns the files by path. The pages contain publicURL; if it is "", their scripts insert the
// URL in the browser.
func load(publicURL string) map[string]http.Handler {
	files := make(map[string]http.Handler)
	for _, pattern := range []string{
		"page/*.js", "page/*.json", "page/*.css",
		"assets/*.js", "assets/*.css", "assets/*.png", "assets/*.txt", "assets/LICENSE", "assets/NOTICE",
	} {
		for name, file := range web.Files(embedded, pattern) {
			files["/docs/"+path.Base(name)] = file
		}
	}
	for _, p := range []clients.Package{clients.Python(), clients.TypeScript()} {
		made := sync.OnceValue(func() http.Handler { return web.NewDocument(p.ContentType, p.Data()) })
		// Made at the first request, because compressing them at the start would take time.
		files["/docs/clients/"+p.Name] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { made().ServeHTTP(w, r) })
	}
	guides := docs.Guides()
	page := func(name string, values ...string) http.Handler {
		text, err := embedded.ReadFile(name)
		if err != nil { // the files are part of the binary
			panic(err)
		}
		filled := strings.NewReplacer(append(values, "{{guides}}", guideLinks(guides))...).Replace(string(text))
		filled = strings.ReplaceAll(filled, localURL, cmp.Or(publicURL, localURL))
		return web.NewDocument("text/html; charset=utf-8", []byte(filled))
	}
	files["/docs"] = page("page/index.html", "{{rules}}", render(rules()))
	for _, g := range guides {
		files["/docs/"+g.Name] = page("page/guide.html", "{{title}}", html.EscapeString(g.Title), "{{text}}", render(g.Text))
	}
	return files
}
