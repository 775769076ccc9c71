package reference

import (
	"cmp"
	"embed"
	"html"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/petcat-api/petcat/docs"
	"github.com/petcat-api/petcat/internal/web"
)

//go:embed assets page
var embedded embed.FS

// localURL is the URL of the service in the guides and the document.
const localURL = "http://localhost:8080"

// site is the documentation of one listener.
type site struct {
	home      string // the path of the reference; guides and other files are below it
	publicURL string // of the service, in the guides; "": their scripts insert the URL in the browser
	guides    []docs.Guide
}

// files returns the guides, and what all pages need, by path.
func (s site) files() map[string]http.Handler {
	files := make(map[string]http.Handler)
	for _, pattern := range []string{
		"page/*.js", "page/*.json", "page/*.css",
		"assets/*.js", "assets/*.css", "assets/*.png", "assets/*.txt", "assets/LICENSE", "assets/NOTICE",
	} {
		for name, file := range web.Files(embedded, pattern) {
			files[s.home+"/"+path.Base(name)] = file
		}
	}
	for _, g := range s.guides {
		files[s.home+"/"+g.Name] = s.guide(g.Title, g.Text)
	}
	return files
}

// guide returns the page of a text in Markdown.
func (s site) guide(title, text string) http.Handler {
	return s.page("page/guide.html", "{{title}}", html.EscapeString(title), "{{text}}", s.render(text))
}

// page returns a page whose placeholders have the values: names and values alternately.
func (s site) page(name string, values ...string) http.Handler {
	text, err := embedded.ReadFile(name)
	if err != nil { // the files are part of the binary
		panic(err)
	}
	values = append(values, "{{guides}}", s.guideLinks(), "{{home}}", s.home)
	filled := strings.NewReplacer(values...).Replace(string(text))
	filled = strings.ReplaceAll(filled, localURL, cmp.Or(s.publicURL, localURL))
	return web.NewDocument("text/html; charset=utf-8", []byte(filled))
}

// once returns a handler that is made at the first request, because making it at the start would take
// time.
func once(handler func() http.Handler) http.HandlerFunc {
	made := sync.OnceValue(handler)
	return func(w http.ResponseWriter, r *http.Request) { made().ServeHTTP(w, r) }
}
