package reference

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/petcat-api/petcat/clients"
	"github.com/petcat-api/petcat/internal/web"
)

// clientsHome is the path of the page with all clients. Their packages and guides are below it.
const clientsHome = "/docs/clients"

// addClients adds the packages of the clients, their guides, and the page that shows how to install them.
func (s site) addClients(files map[string]http.Handler) {
	packages := []clients.Package{clients.Python(), clients.TypeScript()}
	for _, p := range packages {
		files[clientsHome+"/"+p.Name] = once(func() http.Handler { return web.NewDocument(p.ContentType, p.Data()) })
		files[clientsHome+"/"+strings.ToLower(p.Language)] = s.guide(p.Language+" client", p.Guide)
	}
	files[clientsHome] = once(func() http.Handler { return s.guide("Clients", clientsPage(packages)) })
}

// clientsPage returns the page with all clients in Markdown.
func clientsPage(packages []clients.Package) string {
	var b strings.Builder
	b.WriteString("# Clients\n\nThey stay within your limits and retry safely. This server has their packages.\n\n" +
		"| language | install | size |\n|---|---|---|\n")
	for _, p := range packages {
		fmt.Fprintf(&b, "| [%s](%s/%s) | `%s %s%s/%s` | %d KB |\n",
			p.Language, clientsHome, strings.ToLower(p.Language),
			p.Install, localURL, clientsHome, p.Name,
			(len(p.Data())+999)/1000)
	}
	b.WriteString("| Go | `go get github.com/petcat-api/petcat/client` | |\n")
	return b.String()
}

// clientGuide returns the path of the page for a client's README in the repository, or of all clients;
// "" for other documents.
func clientGuide(document string) string {
	for suffix, path := range map[string]string{
		"clients/README":    clientsHome,
		"python/README":     clientsHome + "/python",
		"typescript/README": clientsHome + "/typescript",
	} {
		if strings.HasSuffix(document, suffix) {
			return path
		}
	}
	return ""
}
